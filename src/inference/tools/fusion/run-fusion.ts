import type { Message } from '../../../formats/call/call.ts'
import type { Citation } from '../../../formats/call/part.ts'
import { asString, type JsonObject, omitUndefined } from '../../../platform/json/json-values.ts'
import { failedOutcome, messageOf } from '../failure.ts'
import {
  buildCall,
  flattenConversation,
  joinText,
  type NestedRequestSettings,
  textMessage,
} from '../nested-call.ts'
import type { ToolOutcome, ToolRun } from '../tool.ts'
import {
  buildAnalysisCall,
  type FusionAnalysis,
  maxShownCharacters,
  type PanelReply,
  parseAnalysis,
} from './analysis.ts'
import { callPanel, type PanelFailure, type PanelResult } from './panel.ts'

export interface FusionOptions {
  /** The members of the panel. */
  models: readonly string[]
  /** The analyst; the model of the request if absent. */
  analyst: string | undefined
  settings: NestedRequestSettings
  tools: JsonObject[]
  maxToolCalls: number
}

/** Calls a panel of models, then an analyst that compares their replies. */
export async function runFusion(run: ToolRun, options: FusionOptions): Promise<ToolOutcome> {
  const { models, settings, tools, maxToolCalls } = options
  const messages = buildConversation(run)
  run.progress({ type: 'fusion_call.in_progress' })
  const panel = await callPanel(run, { models, call: buildCall(messages, settings), tools, maxToolCalls })
  if (panel.replies.length === 0) return describeFailedPanel(panel.failures)
  const analysed = await analyse(run, options, messages, panel.replies)
  run.progress({ type: 'fusion_call.completed' })
  return buildOutcome(panel, analysed)
}

/** The conversation, and the prompt of the call unless it repeats the last message. */
function buildConversation({ conversation, input }: ToolRun): Message[] {
  const messages = flattenConversation(conversation)
  const prompt = asString(input.prompt)?.trim() ?? ''
  const last = messages.at(-1)
  const isRepeated = last?.role === 'user' && textOf(last).trim() === prompt
  return prompt === '' || isRepeated ? messages : [...messages, textMessage('user', prompt)]
}

function textOf({ parts }: Message): string {
  return parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('\n')
}

/** The reason why the replies could not be compared. The model then receives the replies alone. */
interface FailedAnalysis {
  failure_reason: string
  error: string
}

async function analyse(
  run: ToolRun,
  { analyst, settings }: FusionOptions,
  messages: readonly Message[],
  replies: readonly PanelReply[],
): Promise<FusionAnalysis | FailedAnalysis> {
  const model = analyst ?? run.model
  run.progress({ type: 'fusion_call.analysis.in_progress', analyst_model: model, judge_model: model })
  const question = messages.map(textOf).join('\n\n')
  try {
    const { parts } = await run.callModel({
      model,
      call: buildAnalysisCall(question, replies, settings),
      purpose: 'fusion_analysis',
      signal: run.signal,
    })
    const analysis = parseAnalysis(joinText(parts))
    if (!analysis)
      return { failure_reason: 'judge_invalid_output', error: 'The analyst did not reply with an analysis.' }
    run.progress({ type: 'fusion_call.analysis.completed', analysis })
    return analysis
  } catch (error) {
    return { failure_reason: 'judge_request_failed', error: messageOf(error) }
  }
}

function buildOutcome(
  { replies, failures, citations }: PanelResult,
  analysed: FusionAnalysis | FailedAnalysis,
): ToolOutcome {
  const result = 'failure_reason' in analysed ? analysed : { analysis: analysed }
  const failed_models = failures.map(({ code: _, ...failure }) => failure)
  const shown = replies.map(({ model, content }) => ({
    model,
    content: content.slice(0, maxShownCharacters),
  }))
  return {
    content: [{ kind: 'text', text: JSON.stringify({ ...result, responses: shown, failed_models }) }],
    item: omitUndefined({
      ...result,
      responses: replies,
      failed_models: failed_models.length > 0 ? failed_models : undefined,
      sources: listSources(citations),
      status: 'completed',
    }),
    citations,
  }
}

const maxSources = 50

function listSources(citations: readonly Citation[]): { title: string; url: string }[] {
  const byUrl = new Map<string, { title: string; url: string }>()
  for (const { url, title = '' } of citations) if (url && !byUrl.has(url)) byUrl.set(url, { title, url })
  return [...byUrl.values()].slice(0, maxSources)
}

/** Reasons by the codes of the errors; any other mixture is `all_panels_failed`. */
const sharedReasons: readonly (readonly [reason: string, codes: RegExp])[] = [
  ['insufficient_credits', /^credits_exhausted$|_limit_reached$|_budget_reached$|^price_unknown$/],
  ['rate_limited', /rate_limited$/],
  ['invalid_model', /^model_/],
]

function describeFailedPanel(failures: readonly PanelFailure[]): ToolOutcome {
  const shared = sharedReasons.find(([, codes]) => failures.every(({ code }) => codes.test(code)))
  const failure_reason = shared?.[0] ?? 'all_panels_failed'
  const failed_models = failures.map(({ code: _, ...failure }) => failure)
  const error = `No model of the panel replied: ${failures[0]?.error ?? ''}`
  return failedOutcome(JSON.stringify({ failure_reason, failed_models }), {
    failure_reason,
    failed_models,
    error,
  })
}
