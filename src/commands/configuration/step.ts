import type { Environment } from '../../config.ts'
import type { ConfigurationDocument } from './documents.ts'
import type { Item, Kind } from './kind.ts'
import type { ResolvedSpec } from './secrets.ts'
import type { Ownership } from './state.ts'

export interface FieldChange {
  field: string
  /** Secrets have no values here. */
  before?: unknown
  after?: unknown
  isSecret?: true
}

/** What is done with one record. `keep`: nothing, or only a note that the set declares it. */
export interface Step {
  action: 'create' | 'update' | 'replace' | 'delete' | 'keep'
  kind: Kind
  name: string
  workspace: string | null
  identity: string
  document: ConfigurationDocument | null
  /** The document with values instead of references. */
  resolved: ResolvedSpec | null
  item: Item | null
  changes: FieldChange[]
  ownership: Ownership | undefined
}

export interface Plan {
  set: string
  steps: Step[]
  /** Records that the set declared and the files do not have any more. */
  left: Step[]
  problems: string[]
}

export interface PlanOptions {
  set: string
  takeOver: boolean
  environment: Environment
  /** Whether a secret that has to be sent must have a value. */
  needsSecrets: boolean
}
