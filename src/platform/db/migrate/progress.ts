/** A step of a migration, counted from 1. */
export interface StepName {
  migration: string
  step: number
  steps: number
  title: string
}

export interface MigrationProgress {
  /** A step begins, or continues after an interruption. */
  onStep: (step: StepName) => void
  /** A step has done more, such as "12,000 of about 1,000,000 rows". */
  onProgress: (step: StepName, detail: string) => void
  /** It waits for something else, and why. */
  onWait: (reason: string) => void
}
