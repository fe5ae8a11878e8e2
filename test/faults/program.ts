// The gateway with its kill points, compiled for `npm test`: see scripts/compile.ts.
import './kill-points.ts'

await import('../../src/cli.ts')
