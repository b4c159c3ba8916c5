// SPDX-License-Identifier: Apache-2.0
//
// A float becomes a narrow number only where it says so.
// error: conversion from .float. to
#include "halftone/scalar.h"

#ifdef MISUSE
const halftone::float16_t x = 1.0f;
#else
const halftone::float16_t x(1.0f);
#endif
