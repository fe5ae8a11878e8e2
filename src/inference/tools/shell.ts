import { z } from 'zod'
import { containerEnvironment } from '../../containers/environment.ts'
import type { CommandResult } from '../../containers/run-command.ts'
import { asNumber, type JsonObject } from '../../platform/json/json-values.ts'
import { parseArguments } from './arguments.ts'
import { buildFees, ContainerCommands, describeOutcome, mergeCitations } from './container-commands.ts'
import { failedOutcome, messageOf } from './failure.ts'
import { defineServerTool, type ToolOutcome, type ToolRun } from './tool.ts'

const maxCommands = 20

/** Runs shell commands in a container. */
export const shell = defineServerTool({
  name: 'shell',
  formats: ['messages', 'responses'],
  parameters: z.strictObject({
    engine: z.enum(['auto', 'service']).optional(),
    environment: containerEnvironment.optional(),
  }),
  create: async ({ environment }, setup) => {
    const commands = await ContainerCommands.open(setup, environment)
    return {
      functions: [
        {
          kind: 'function',
          name: 'shell',
          description:
            'Run commands with bash in a Linux container, one after the other. Files below the home directory last; ' +
            'everything else is gone after each command.',
          schema: {
            type: 'object',
            properties: {
              commands: { type: 'array', items: { type: 'string' }, maxItems: maxCommands },
              timeout_ms: { type: 'integer', description: 'For each command.' },
              max_output_length: { type: 'integer', description: 'Characters of stdout and of stderr.' },
            },
            required: ['commands'],
          },
        },
      ],
      describe: ({ id, arguments: text }) => ({
        item: {
          type: 'service:shell',
          call_id: id,
          arguments: text,
          action: readAction(parseArguments(text)),
        },
      }),
      timeoutMs: ContainerCommands.timeoutOf(setup),
      run: (_call, run) => runAll(commands, run),
    }
  },
})

interface ShellAction {
  commands: string[]
  timeout_ms: number | null
  max_output_length: number | null
}

function readAction({ commands, timeout_ms, max_output_length }: JsonObject): ShellAction {
  return {
    commands: Array.isArray(commands) ? commands.filter((command) => typeof command === 'string') : [],
    timeout_ms: asPositive(timeout_ms),
    max_output_length: asPositive(max_output_length),
  }
}

function asPositive(value: unknown): number | null {
  const number = asNumber(value)
  return number !== undefined && number >= 1 ? Math.trunc(number) : null
}

async function runAll(container: ContainerCommands, run: ToolRun): Promise<ToolOutcome> {
  const { commands, timeout_ms, max_output_length } = readAction(run.input)
  if (commands.length === 0 || commands.length > maxCommands)
    return failedOutcome(`commands: must have 1 to ${maxCommands} commands`, {}, 'failed')
  const options = { timeoutMs: timeout_ms ?? undefined, maxOutputLength: max_output_length ?? undefined }
  const results: CommandResult[] = []
  let error: string | null = null
  for (const command of commands) {
    if (run.signal.aborted) break
    try {
      results.push(await container.run(run, command, options))
    } catch (cause) {
      error = messageOf(cause)
      break
    }
  }
  return buildOutcome(results, error)
}

/** A command that fails is a result; an error is a command that could not be run. */
function buildOutcome(results: readonly CommandResult[], error: string | null): ToolOutcome {
  const output = results.map((result) => ({
    outcome: describeOutcome(result),
    stdout: result.stdout,
    stderr: result.stderr,
  }))
  const shared = {
    ...(results[0] && { container_id: results[0].containerId }),
    files: mergeCitations(results),
  }
  const problem = error === null ? {} : { error }
  return {
    content: [{ kind: 'text', text: JSON.stringify({ output, ...problem }) }],
    ...(error !== null && { isError: true }),
    item: { output, ...shared, ...problem, status: error === null ? 'completed' : 'failed' },
    block: {
      type: 'service_shell_tool_result',
      content: { type: 'service_shell_result', output, ...problem },
      ...shared,
    },
    fees: buildFees(results),
  }
}
