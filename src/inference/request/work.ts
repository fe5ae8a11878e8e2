import type { ModelCall } from '../../formats/call/call.ts'
import type { PluginId, PluginSettings } from '../../formats/schema/plugins.ts'
import { Bill } from '../../ledger/bill.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { FundedRequest } from '../hold/extension.ts'
import type { Funds } from '../hold/funds.ts'
import { requireFunds } from '../hold/request-funds.ts'
import type { PreparedTools } from '../tools/prepared-tools.ts'
import type { CallModelFn } from '../tools/tool.ts'

/** A plugin of a request: the client's, or one that is on by default. */
export interface AppliedPlugin {
  id: PluginId
  /** Validated settings, without `id` and `enabled`. */
  settings: PluginSettings<PluginId>
  /** Whether it is on by default: the request does not name it. */
  isDefault?: boolean
  /** Whether the models of the request need it, although neither the request nor the account names it. */
  isImplied?: boolean
}

/** A step besides the model, in `service_metadata.pipeline`. */
export interface PipelineStage {
  type:
    | 'guardrail'
    | 'plugin'
    | 'server_tools'
    | 'response_healing'
    | 'context_compression'
    | 'hedge'
    | 'prompt_caching'
  name: string
  summary?: string
  data?: JsonObject
  cost_usd?: number | null
  guardrail_id?: string
  guardrail_scope?: string
}

/** The steps of a request besides one call of its model. */
export class RequestWork {
  plugins: readonly AppliedPlugin[]
  /** The plugins that the client switched off. */
  readonly disabled: ReadonlySet<PluginId>
  /** Fields that the client requested and that have no effect, such as `plugins.web`. */
  readonly dropped: string[] = []
  readonly stages: PipelineStage[] = []
  /** Costs besides those of the turn in progress. */
  readonly bill = new Bill()
  /** Calls of server tools: as the model requested them, and those that were run. */
  readonly toolCalls = { requested: 0, executed: 0, webSearches: 0, webFetches: 0 }

  /** The call with placeholders for the files that a plugin replaces, which not every model can read. */
  routingCall: ModelCall | null = null
  /** The files that a plugin has parsed, as annotations. */
  readonly fileAnnotations: object[] = []
  /** Calls a model for a plugin; null until the plugins are prepared. */
  callModel: CallModelFn | null = null

  /** Server tools, ready to run; null if there are none. */
  tools: PreparedTools | null = null

  constructor(plugins: readonly AppliedPlugin[], disabled: ReadonlySet<PluginId> = new Set()) {
    this.plugins = plugins
    this.disabled = disabled
  }

  findPlugin(id: PluginId): AppliedPlugin | undefined {
    return this.plugins.find((plugin) => plugin.id === id)
  }

  /** Reports a plugin without effect, unless the client did not request it. */
  dropPlugin(id: PluginId): void {
    if (!this.findPlugin(id)?.isDefault) this.dropped.push(`plugins.${id}`)
  }

  /** Reports settings of a plugin without effect, unless the client did not request it. */
  dropSettings(id: PluginId, names: readonly string[]): void {
    if (!this.findPlugin(id)?.isDefault) this.dropped.push(...names)
  }

  /** Drops the plugins that do not act on the task, if it is not text. */
  dropPluginsExcept(remaining: PluginId): void {
    for (const { id } of this.plugins) if (id !== remaining) this.dropPlugin(id)
  }
}

/** The work of a request, which is created when it is first needed. */
export function requireWork(
  request: FundedRequest & { work: RequestWork | null; funds: Funds | null },
): RequestWork {
  request.work ??= new RequestWork([])
  requireFunds(request).bill ??= request.work.bill
  return request.work
}
