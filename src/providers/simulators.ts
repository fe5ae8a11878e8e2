import { simulate } from './sandbox/simulate.ts'
import type { Simulator } from './simulation.ts'

/** By provider slug, for the providers whose `inProcess` is set. */
export const simulators: ReadonlyMap<string, Simulator> = new Map([['sandbox', simulate]])
