// SPDX-License-Identifier: Apache-2.0
//
// All of halftone for a program that trains a model.
#pragma once

#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/block.h"
#include "halftone/census.h"
#include "halftone/comm.h"
#include "halftone/conversion.h"
#include "halftone/data.h"
#include "halftone/error.h"
#include "halftone/format.h"
#include "halftone/models.h"
#include "halftone/nn.h"
#include "halftone/ops.h"
#include "halftone/optim.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "halftone/random.h"
#include "halftone/report.h"
#include "halftone/scalar.h"
#include "halftone/tensor.h"
#include "halftone/tokenizer.h"
#include "halftone/train.h"
#include "halftone/warning.h"
#include "halftone/weights.h"
