import { z } from 'zod'
import type { FunctionTool, Message, ModelCall } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { parseArguments } from './arguments.ts'
import { failedOutcome, messageOf } from './failure.ts'
import { type InstanceName, instanceNamePattern, listEarlierCalls, nameInstance } from './instances.ts'
import { buildCall, flattenConversation, joinText, nestedRequestFields, textMessage } from './nested-call.ts'
import {
  defineServerTool,
  type NestedModelReply,
  type ToolInstance,
  type ToolOutcome,
  type ToolRun,
  type ToolSetup,
} from './tool.ts'
import { vendorAdvisorType } from './vendor-model-tools.ts'

const parameters = z.strictObject({
  ...nestedRequestFields,
  name: z.string().regex(instanceNamePattern).optional(),
  forward_transcript: z.boolean().optional(),
  stream: z.boolean().optional(),
})

const name = 'advisor'

export type AdvisorParameters = z.output<typeof parameters>

/** A model that the model of the request can ask for advice. */
export const advisor = defineServerTool({
  name,
  formats: ['chat', 'messages', 'responses'],
  parameters,
  create: (settings, setup) => {
    const { format, entry, at, call } = setup
    if (entry.type === vendorAdvisorType) return createVendorAdvisor(settings, setup)
    if (format === 'messages')
      throw invalidFieldError(
        `${at}.type`,
        `"service:advisor" is not available in this format; use ${vendorAdvisorType}`,
      )
    return createAdvisor(settings, nameInstance(name, setup), call)
  },
})

export function createAdvisor(
  settings: AdvisorParameters,
  { functionName, instanceName }: InstanceName,
  call: ModelCall,
): ToolInstance {
  const history = settings.forward_transcript ? [] : restoreAdvice(call, instanceName ?? name)
  return {
    functions: [buildFunction(functionName, settings)],
    costs: { calls: [{ model: settings.model, maxTokens: settings.max_completion_tokens }] },
    describe: ({ arguments: text }) => ({
      item: omitUndefined({
        type: 'service:advisor',
        instance_name: instanceName,
        model: settings.model,
        prompt: asString(parseArguments(text).prompt),
      }),
    }),
    run: async (_call, run) => {
      const outcome = await callAdvisor(settings, run, history)
      const { prompt, advice } = outcome.item
      history.push(...toExchange(asString(prompt), asString(advice)))
      return outcome
    },
  }
}

const maxUses = z.int().min(1).optional()
/** Fields of the vendor's tool that only the vendor could apply. */
const vendorFields = ['caching', 'allowed_callers', 'defer_loading', 'cache_control']

/** The tool of the Messages format: the whole conversation is its prompt. */
function createVendorAdvisor(settings: AdvisorParameters, { entry, at, call }: ToolSetup): ToolInstance {
  const limit = validateInput(maxUses, entry.max_uses ?? undefined, `${at}.max_uses`)
  const names = { functionName: name, instanceName: undefined }
  const instance = createAdvisor(settings, names, call)
  let uses = 0
  return {
    ...instance,
    ignored: vendorFields.flatMap((name) => (entry[name] == null ? [] : [`${at}.${name}`])),
    run: async (toolCall, run) => {
      if (limit !== undefined && ++uses > limit)
        return {
          ...failedOutcome(`The limit of ${limit} calls of the advisor is reached.`, {}, 'failed'),
          block: buildErrorBlock('max_uses_exceeded'),
        }
      return instance.run?.(toolCall, run) ?? failedOutcome('The advisor is not available.', {}, 'failed')
    },
  }
}

function buildErrorBlock(error_code: string): JsonObject {
  return { type: 'advisor_tool_result', content: { type: 'advisor_tool_result_error', error_code } }
}

function buildFunction(name: string, { model, forward_transcript }: AdvisorParameters): FunctionTool {
  return {
    kind: 'function',
    name,
    description:
      'Ask a more capable model for advice: before a decision that is hard to revert, when you are stuck, or before ' +
      `you declare a task done. ${forward_transcript ? 'It sees this conversation.' : 'It sees nothing of this conversation: give it all it needs to know.'}`,
    schema: {
      type: 'object',
      properties: {
        prompt: { type: 'string', description: 'The question, with the context it needs.' },
        ...(model === undefined && {
          model: { type: 'string', description: 'The model to ask, by its slug.' },
        }),
      },
      required: forward_transcript ? [] : ['prompt'],
    },
  }
}

async function callAdvisor(
  settings: AdvisorParameters,
  run: ToolRun,
  history: readonly Message[],
): Promise<ToolOutcome> {
  const { input } = run
  const prompt = asString(input.prompt)?.trim() ?? ''
  if (prompt === '' && !settings.forward_transcript)
    return failedOutcome('prompt: is required', { error: 'The call has no prompt.' }, 'failed')
  const model = settings.model ?? asString(input.model) ?? run.model
  const transcript = settings.forward_transcript ? flattenConversation(run.conversation) : history
  const messages = [...transcript, textMessage('user', prompt || 'What do you advise?')]
  try {
    const reply = await run.callModel({
      model,
      call: buildCall(messages, settings),
      purpose: 'advisor',
      signal: run.signal,
      ...(settings.stream && {
        onText: (delta: string) => run.progress({ type: 'advisor_call.delta', delta }),
      }),
    })
    const advice = joinText(reply.parts)
    return {
      content: [{ kind: 'text', text: advice }],
      item: { advice, model: reply.model, prompt, status: 'completed' },
      block: {
        type: 'advisor_tool_result',
        content: { type: 'advisor_result', text: advice, stop_reason: stopReasonOf(reply) },
      },
    }
  } catch (error) {
    const message = messageOf(error)
    return {
      ...failedOutcome(`The advisor did not reply: ${message}`, { error: message, model, prompt }, 'failed'),
      block: buildErrorBlock('unavailable'),
    }
  }
}

/** Translates a finish reason to the Messages format. */
function stopReasonOf({ finishReason }: NestedModelReply): string | null {
  return finishReason === 'length' ? 'max_tokens' : finishReason === 'stop' ? 'end_turn' : null
}

/** Earlier prompts and replies of the same advisor, if the client has sent them back. */
function restoreAdvice(call: ModelCall, recordedName: string): Message[] {
  return listEarlierCalls(call, recordedName).flatMap(({ arguments: text, result }) =>
    toExchange(asString(parseArguments(text).prompt), result),
  )
}

function toExchange(prompt: string | undefined, advice: string | undefined): Message[] {
  return prompt && advice ? [textMessage('user', prompt), textMessage('assistant', advice)] : []
}
