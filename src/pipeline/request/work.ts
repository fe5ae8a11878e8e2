import { Bill } from '../../ledger/bill.ts'
import type { JsonObject } from '../../lib/json-values.ts'

/** A plugin of a request: the client's, or one that is on by default. */
export interface AppliedPlugin {
  id: string
  /** Validated, without `id` and `enabled`. */
  settings: JsonObject
}

/** A step besides the model, in `service_metadata.pipeline`. */
export interface PipelineStage {
  type: 'guardrail' | 'plugin' | 'server_tools' | 'response_healing' | 'context_compression'
  name: string
  summary?: string
  data?: JsonObject
  cost_usd?: number | null
  guardrail_id?: string
  guardrail_scope?: string
}

/** What a request does besides asking its model once. */
export class RequestWork {
  readonly plugins: readonly AppliedPlugin[]
  readonly stages: PipelineStage[] = []
  /** What it costs besides the turn in progress. */
  readonly bill = new Bill()
  /** Calls of server tools: as the model requested them, and those that were run. */
  readonly toolCalls = { requested: 0, executed: 0, webSearches: 0 }

  constructor(plugins: readonly AppliedPlugin[]) {
    this.plugins = plugins
  }
}
