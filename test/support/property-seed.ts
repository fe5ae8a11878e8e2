// Preloaded by `npm test`: properties try the same examples in every run, so that a result does not depend on chance.
// `PROPERTY_SEED=<number> npm test` tries others.
import fc from 'fast-check'

const fixedSeed = 20_260_514

fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? fixedSeed) })
