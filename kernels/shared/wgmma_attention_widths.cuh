// Products of wgmma for attention whose heads are not 64 or 128 long: sums of 64 x 80, 96, 112, 192 and 256.
#pragma once

#include "shared/wgmma_attention_products.cuh"

#define SUMS_40 SUMS_32, SUMS_4(32), SUMS_4(36)
#define SUMS_48 SUMS_32, SUMS_16(32)
#define SUMS_56 SUMS_48, SUMS_4(48), SUMS_4(52)
#define SUMS_96 SUMS_64, SUMS_16(64), SUMS_16(80)
#define SUMS_128 SUMS_96, SUMS_16(96), SUMS_16(112)
#define NAMES_40 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define NAMES_48 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_56 NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define NAMES_96 NAMES_64                                                                               \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
    "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_128 NAMES_96                                                                                 \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, " \
    "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// As those of 64 and 128 columns in wgmma_attention_products.cuh.
MULTIPLY_TILES(40, "m64n80", "%40", "%41", "%42", "%43")
MULTIPLY_TILES(48, "m64n96", "%48", "%49", "%50", "%51")
MULTIPLY_TILES(56, "m64n112", "%56", "%57", "%58", "%59")
MULTIPLY_REGISTERS(48, "m64n96", "%48, %49, %50, %51", "%52")
MULTIPLY_REGISTERS(96, "m64n192", "%96, %97, %98, %99", "%100")
MULTIPLY_REGISTERS(128, "m64n256", "%128, %129, %130, %131", "%132")
