import { z } from 'zod'
import type { FunctionTool } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { parseArguments } from './arguments.ts'
import { failedOutcome, messageOf } from './failure.ts'
import { type InstanceName, instanceNamePattern, nameInstance } from './instances.ts'
import { buildCall, joinText, nestedRequestFields, textMessage } from './nested-call.ts'
import { checkNestedTools } from './nested-tools.ts'
import { defineServerTool, type ToolOutcome, type ToolRun, type ToolSetup } from './tool.ts'

const maxToolCalls = 25

const parameters = z.strictObject({
  ...nestedRequestFields,
  name: z.string().regex(instanceNamePattern).optional(),
  max_tool_calls: z.int().min(1).max(maxToolCalls).default(maxToolCalls),
  tools: z
    .array(z.looseObject({ type: z.string() }))
    .max(32)
    .default([]),
  inherit_functions: z.boolean().optional(),
  inherited_function_names: z.array(z.string().min(1)).optional(),
})

type SubagentParameters = z.output<typeof parameters>

/** A model to which the model of the request delegates a task. */
export const subagent = defineServerTool({
  name: 'subagent',
  formats: ['chat', 'responses'],
  parameters,
  create: (settings, setup) => {
    checkParameters(settings, setup)
    const name = nameInstance('subagent', setup)
    return {
      functions: [buildFunction(name)],
      costs: { calls: [{ model: settings.model, maxTokens: settings.max_completion_tokens }] },
      describe: ({ id, arguments: text }) => ({
        item: omitUndefined({
          type: 'service:subagent',
          call_id: id,
          instance_name: name.instanceName,
          name: settings.name,
          model: settings.model,
          ...readTask(parseArguments(text)),
        }),
      }),
      timeoutMs: setup.gateway.settings.limits.whole_reply,
      run: (_call, run) => runTask(settings, run),
    }
  },
})

function checkParameters(settings: SubagentParameters, { at }: ToolSetup): void {
  const { tools, inherit_functions, inherited_function_names } = settings
  if (inherit_functions || inherited_function_names)
    throw invalidFieldError(
      `${at}.parameters.${inherit_functions ? 'inherit_functions' : 'inherited_function_names'}`,
      'is not supported: a subagent uses the service tools of its own `tools`',
    )
  checkNestedTools(tools, `${at}.parameters.tools`)
}

function buildFunction({ functionName }: InstanceName): FunctionTool {
  return {
    kind: 'function',
    name: functionName,
    description:
      'Have a smaller, faster model do a task that does not need your full capability, such as a summary or an ' +
      'extraction. It sees the description alone, nothing of this conversation, and remembers no other task.',
    schema: {
      type: 'object',
      properties: {
        task_description: {
          type: 'string',
          description: 'All that is to be done and known, and the form of the result.',
        },
        task_name: { type: 'string', description: 'A short name of the task.' },
      },
      required: ['task_name', 'task_description'],
    },
  }
}

async function runTask(settings: SubagentParameters, run: ToolRun): Promise<ToolOutcome> {
  const task = readTask(run.input)
  const { task_description: description } = task
  const model = settings.model ?? run.model
  if (!description?.trim())
    return failedOutcome('task_description: is required', { error: 'The call has no task.' }, 'failed')
  try {
    const reply = await run.callModel({
      model,
      call: buildCall([textMessage('user', description)], settings),
      tools: settings.tools,
      maxToolCalls: settings.max_tool_calls,
      purpose: 'subagent',
      signal: run.signal,
    })
    const outcome = joinText(reply.parts)
    return {
      content: [{ kind: 'text', text: outcome }],
      item: omitUndefined({ ...task, outcome, model: reply.model, status: 'completed' }),
    }
  } catch (error) {
    const message = messageOf(error)
    const item = omitUndefined({ ...task, error: message, model })
    return failedOutcome(`The task failed: ${message}`, item, 'failed')
  }
}

function readTask({ task_name, task_description }: JsonObject): {
  task_name: string | undefined
  task_description: string | undefined
} {
  return { task_name: asString(task_name), task_description: asString(task_description) }
}
