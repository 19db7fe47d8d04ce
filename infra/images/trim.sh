#!/bin/sh
# trim.sh FOLDER: removes from a deployed service the files that are not read at run time. Of Prisma's query compilers (70 MB, for five
# databases) only the small one for PostgreSQL is used (`compilerBuild` in the gate's schema).
set -eu
find "$1" -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -name '*.tsbuildinfo' \) -delete
find "$1" -path '*/@prisma/client/runtime/*' -name 'query_compiler*' ! -name 'query_compiler_small_bg.postgresql*' -delete
