// SPDX-License-Identifier: Apache-2.0
//
// Two formats meet in float; the way back is explicit.
// error: conversion from .float. to
#include "halftone/scalar.h"

#ifdef MISUSE
const halftone::float16_t x = halftone::float16_t(1) + halftone::bfloat16_t(1);
#else
const halftone::float16_t x(halftone::float16_t(1) + halftone::bfloat16_t(1));
#endif
