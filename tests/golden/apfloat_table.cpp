// SPDX-License-Identifier: Apache-2.0
//
// Writes apfloat.txt: every code of the formats of at most 8 bits that LLVM 19 knows, as LLVM reads it.
//
//   g++ -std=c++17 -I/usr/lib/llvm-19/include apfloat_table.cpp -L/usr/lib/llvm-19/lib -lLLVM-19 -o
//   /tmp/table /tmp/table > apfloat.txt
#include <llvm/ADT/APFloat.h>

#include <cstdio>

int main() {
  using llvm::APFloat;
  const struct {
    const char* name;
    const llvm::fltSemantics& semantics;
    unsigned bits;
  } formats[] = {
      {"float8_e5m2", APFloat::Float8E5M2(), 8},
      {"float8_e4m3", APFloat::Float8E4M3(), 8},
      {"float8_e4m3fn", APFloat::Float8E4M3FN(), 8},
      {"float8_e5m2fnuz", APFloat::Float8E5M2FNUZ(), 8},
      {"float8_e4m3fnuz", APFloat::Float8E4M3FNUZ(), 8},
      {"float8_e4m3b11fnuz", APFloat::Float8E4M3B11FNUZ(), 8},
      {"float6_e3m2fn", APFloat::Float6E3M2FN(), 6},
      {"float6_e2m3fn", APFloat::Float6E2M3FN(), 6},
      {"float4_e2m1fn", APFloat::Float4E2M1FN(), 4},
  };
  std::puts("# LLVM 19 APFloat, see README.md. Every code in order.");
  for (const auto& format : formats) {
    std::printf("format %s\n", format.name);
    for (unsigned code = 0; code < 1u << format.bits; ++code) {
      APFloat value(format.semantics, llvm::APInt(format.bits, code));
      bool loses = false;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      std::printf("%a%c", value.convertToDouble(), code % 8 == 7 ? '\n' : ' ');
    }
  }
}
