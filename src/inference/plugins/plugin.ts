import type { PluginId, PluginSettings } from '../../formats/schema/plugins.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { InferenceRequest, RoutingPlan } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import type { CallModelFn } from '../tools/tool.ts'

/** A feature of the gateway that changes a request or its reply. Requests enable it in `plugins`. */
export interface Plugin<Id extends PluginId = PluginId> {
  /** The id, whose settings are declared in `formats/schema/plugins.ts`. */
  id: Id
  /** Validates settings before they are stored. Errors are 400 and name the field. */
  validate?(settings: PluginSettings<Id>): void
  /** Checks that the operator has configured what these settings need. Errors are 400 and name the setting. */
  assertConfigured?(gateway: Gateway, settings: PluginSettings<Id>): void
  /** Runs before routing; may change the models or the prompt, or add transforms of the reply. */
  prepare?(context: PluginContext, settings: PluginSettings<Id>): void | Promise<void>
  /** Runs after admission, so that its cost can be held; may change the prompt. The guardrails filter what it adds. */
  augment?(context: AugmentContext, settings: PluginSettings<Id>): Promise<void>
  /** The highest fee of `augment`, without the tokens it adds to the prompt; for quotes. */
  estimateFee?(context: PluginContext, settings: PluginSettings<Id>): bigint | Promise<bigint>
  /** Estimates the most characters that `augment` adds to the prompt; absent if that is not known before. */
  estimateCharacters?(context: PluginContext, settings: PluginSettings<Id>): number
}

export interface PluginContext {
  gateway: Gateway
  request: InferenceRequest
  work: RequestWork
  /** Whether the request is only quoted, or its tokens counted: nothing may be paid for. */
  isDryRun: boolean
  callModel: CallModelFn
}

export interface AugmentContext extends PluginContext {
  plan: RoutingPlan
  signal: AbortSignal
  /** Holds the most that a paid step may cost, before it is made; throws the error of the limit it exceeds. */
  reserve(nanos: bigint): Promise<void>
}
