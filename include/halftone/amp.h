// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision: recipes, autocast, loss scaling, master weights and the training step that puts them in
// the one right order. Follows Micikevicius et al., "Mixed precision training", ICLR 2018.
#pragma once

#include "halftone/autocast.h"
#include "halftone/grad_scaler.h"
#include "halftone/loss_scale.h"
#include "halftone/optimizer.h"
#include "halftone/recipe.h"
#include "halftone/step.h"
