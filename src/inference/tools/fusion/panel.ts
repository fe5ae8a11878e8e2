import type { ModelCall } from '../../../formats/call/call.ts'
import type { Citation } from '../../../formats/call/part.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { messageOf } from '../failure.ts'
import { joinText } from '../nested-call.ts'
import type { ToolRun } from '../tool.ts'
import type { PanelReply } from './analysis.ts'

/** A member of the panel that did not reply. */
export interface PanelFailure {
  model: string
  error: string
  status_code: number
  /** The code of the error. */
  code: string
}

export interface PanelResult {
  replies: PanelReply[]
  failures: PanelFailure[]
  citations: Citation[]
}

export interface PanelOptions {
  models: readonly string[]
  call: ModelCall
  tools: JsonObject[]
  maxToolCalls: number
}

/** Calls all models in parallel. */
export async function callPanel(run: ToolRun, options: PanelOptions): Promise<PanelResult> {
  const members = await Promise.all(options.models.map((model) => callMember(run, model, options)))
  return {
    replies: members.flatMap(({ reply }) => reply ?? []),
    failures: members.flatMap(({ failure }) => failure ?? []),
    citations: members.flatMap(({ citations }) => citations ?? []),
  }
}

interface MemberResult {
  reply?: PanelReply
  failure?: PanelFailure
  citations?: Citation[]
}

async function callMember(
  run: ToolRun,
  model: string,
  { call, tools, maxToolCalls }: PanelOptions,
): Promise<MemberResult> {
  run.progress({ type: 'fusion_call.panel.added', model })
  try {
    const { parts } = await run.callModel({
      model,
      call,
      tools,
      maxToolCalls,
      purpose: 'fusion_panel',
      signal: run.signal,
      onText: (delta) => run.progress({ type: 'fusion_call.panel.delta', model, delta }),
      onReasoning: (delta) => run.progress({ type: 'fusion_call.panel.reasoning.delta', model, delta }),
    })
    const content = joinText(parts)
    if (content.trim() === '')
      return fail(run, model, new GatewayError('upstream_unprocessable', { message: 'The reply is empty.' }))
    run.progress({ type: 'fusion_call.panel.completed', model, content })
    const citations = parts.flatMap((part) => (part.kind === 'text' ? (part.citations ?? []) : []))
    return { reply: { model, content }, citations }
  } catch (error) {
    return fail(run, model, error)
  }
}

function fail(run: ToolRun, model: string, cause: unknown): MemberResult {
  const error = messageOf(cause)
  const { code, row } = cause as GatewayError
  run.progress({ type: 'fusion_call.panel.failed', model, error, status_code: row.status })
  return { failure: { model, error, status_code: row.status, code } }
}
