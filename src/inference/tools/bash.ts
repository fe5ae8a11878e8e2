import { z } from 'zod'
import { containerEnvironment } from '../../containers/environment.ts'
import type { CommandResult } from '../../containers/run-command.ts'
import type { FunctionTool } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { parseArguments } from './arguments.ts'
import { buildFees, ContainerCommands } from './container-commands.ts'
import { failedOutcome, messageOf } from './failure.ts'
import { defineServerTool, type ToolInstance, type ToolOutcome, type ToolRun } from './tool.ts'

const definition: FunctionTool = {
  kind: 'function',
  name: 'bash',
  description: 'Run a command with bash.',
  schema: {
    type: 'object',
    properties: { command: { type: 'string', description: 'The command to run.' } },
    required: ['command'],
  },
}

/** Runs commands in a container with the engine `service`; otherwise the client runs them. */
export const bash = defineServerTool({
  name: 'bash',
  formats: ['messages'],
  parameters: z.strictObject({
    engine: z.enum(['auto', 'native', 'service']).default('auto'),
    environment: containerEnvironment.optional(),
  }),
  create: async ({ engine, environment }, setup): Promise<ToolInstance> => {
    if (engine !== 'service') {
      if (environment)
        throw invalidFieldError(`${setup.at}.parameters.environment`, 'requires the engine service')
      return { functions: [definition], describe, toClientCall: (call) => call }
    }
    const commands = await ContainerCommands.open(setup, environment)
    return {
      functions: [definition],
      describe,
      timeoutMs: ContainerCommands.timeoutOf(setup),
      run: (_call, run) => runCommand(commands, run),
    }
  },
})

const describe: ToolInstance['describe'] = ({ id, arguments: text }) => ({
  item: omitUndefined({
    type: 'service:bash',
    call_id: id,
    arguments: text,
    command: asString(parseArguments(text).command),
  }),
})

async function runCommand(commands: ContainerCommands, run: ToolRun): Promise<ToolOutcome> {
  const command = asString(run.input.command)
  if (!command?.trim()) return failed('command: is required')
  try {
    return buildOutcome(await commands.run(run, command))
  } catch (error) {
    return failed(messageOf(error))
  }
}

function buildOutcome(result: CommandResult): ToolOutcome {
  const { stdout, stderr, exitCode, timedOut, containerId, files } = result
  const shared = { container_id: containerId, files }
  const error = timedOut ? { error: 'The command took too long and was ended.' } : {}
  return {
    content: [{ kind: 'text', text: JSON.stringify({ stdout, stderr, exit_code: exitCode, ...error }) }],
    ...(timedOut && { isError: true }),
    item: { stdout, stderr, exitCode, ...shared, ...error, status: timedOut ? 'failed' : 'completed' },
    block: buildBlock({ stdout, stderr, return_code: exitCode, ...error }, shared),
    fees: buildFees([result]),
  }
}

function buildBlock(content: JsonObject, shared: JsonObject = {}): JsonObject {
  const type = 'service_bash_tool_result'
  return { type, content: { type: 'service_bash_result', ...content }, ...shared }
}

function failed(message: string): ToolOutcome {
  return { ...failedOutcome(message, { error: message }, 'failed'), block: buildBlock({ error: message }) }
}
