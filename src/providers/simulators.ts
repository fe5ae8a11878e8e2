import { simulate } from './sandbox/simulate.ts'
import type { Simulate } from './simulation.ts'

/** By provider slug, for the providers whose `inProcess` is set. */
export const simulators: ReadonlyMap<string, Simulate> = new Map([['sandbox', simulate]])
