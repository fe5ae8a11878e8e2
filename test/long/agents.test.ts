import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Lab, modelOf, openLab, replyOf, type TextWireFormat } from '../clients/lab.ts'
import { type Scenario, scenarios } from '../support/replies.ts'
import type { ReceivedRequest } from '../support/upstream.ts'
import { openScratchHome, programTimeoutMs, runProgram, type ScratchHome } from './scratch-home.ts'

/** Folder in which scripts/test-long.mjs put the programs; without it this file has no tests. */
const agents = process.env.HEADGATE_TEST_AGENTS ?? ''

const text = 'The snow is deep in Ålesund.\n'
const finalText = 'Done: hello.txt is written.'

let lab: Lab
let home: ScratchHome

type ToolCall = Pick<Scenario['toolCalls'][number], 'name' | 'arguments'>

/** The upstream calls the tool until it gets the result, then sends the final text. */
function scriptToolCall(
  wireFormat: TextWireFormat,
  callFor: (request: ReceivedRequest) => ToolCall | undefined,
): void {
  lab.upstream.setDefault((request) => {
    const call = request.text.includes('call_write1') ? undefined : callFor(request)
    const scenario: Scenario = {
      ...scenarios.text,
      text: call ? 'I will write the file.' : finalText,
      toolCalls: call ? [{ id: 'call_write1', ...call }] : [],
      finish: call ? 'tool_calls' : 'stop',
    }
    const source = replyOf(wireFormat, scenario)
    return typeof source === 'function' ? source(request) : source
  })
}

/** The names of the tools a request offers, in whichever format. */
function toolNames({ json }: ReceivedRequest): string[] {
  const tools: { name?: string; function?: { name: string } }[] = json?.tools ?? []
  return tools.map((tool) => tool.name ?? tool.function?.name ?? '')
}

/** Deletes the file of the previous run. */
function freshFile(): string {
  const file = join(home.work, 'hello.txt')
  rmSync(file, { force: true })
  return file
}

async function runClaude(wireFormat: TextWireFormat, key = lab.key) {
  const model = modelOf(wireFormat)
  const wrapper = join(agents, '@anthropic-ai/claude-code/cli-wrapper.cjs')
  const options = [
    '--output-format',
    'json',
    '--model',
    model,
    '--allowedTools',
    'Write',
    '--permission-mode',
    'acceptEdits',
  ]
  return runProgram(home, ['node', wrapper, '-p', 'Write a greeting to hello.txt.', ...options], {
    ANTHROPIC_BASE_URL: lab.url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
  })
}

async function runCodex(wireFormat: TextWireFormat, model = modelOf(wireFormat)) {
  const folder = join(home.home, '.codex')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'config.toml'),
    `model = "${model}"
model_provider = "headgate"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
apps = false
plugins = false
plugin_discovery_prefetch = false
[model_providers.headgate]
name = "Headgate"
base_url = "${lab.url}/v1"
env_key = "HEADGATE_KEY"
wire_api = "responses"
`,
  )
  const program = join(agents, '@openai/codex/bin/codex.js')
  const options = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--json']
  return runProgram(home, ['node', program, 'exec', ...options, 'Write a greeting to hello.txt.'], {
    HEADGATE_KEY: lab.key,
  })
}

/** The tool that runs a command has had several names. */
function shellCall(request: ReceivedRequest): ToolCall | undefined {
  const command = `printf '%s' '${text}' > hello.txt`
  const names = toolNames(request)
  if (names.includes('shell_command'))
    return { name: 'shell_command', arguments: JSON.stringify({ command }) }
  if (names.includes('exec_command'))
    return { name: 'exec_command', arguments: JSON.stringify({ cmd: command }) }
  if (names.includes('shell'))
    return { name: 'shell', arguments: JSON.stringify({ command: ['sh', '-c', command] }) }
  return undefined
}

if (agents) {
  beforeAll(async () => {
    lab = await openLab()
    home = await openScratchHome()
  })
  afterAll(async () => {
    await lab.server.stop()
    await lab.upstream.stop()
    home.close()
  })

  describe('command-line agents finish a small task', () => {
    test.each(['messages', 'chat'] as const)(
      'Claude Code over an upstream of format %s',
      async (wireFormat) => {
        const file = freshFile()
        scriptToolCall(wireFormat, (request) =>
          toolNames(request).includes('Write')
            ? { name: 'Write', arguments: JSON.stringify({ file_path: file, content: text }) }
            : undefined,
        )
        const { code, output, errors } = await runClaude(wireFormat)
        expect({ code, text: code === 0 ? '' : output + errors }).toEqual({ code: 0, text: '' })
        expect(JSON.parse(output)).toMatchObject({ is_error: false, result: finalText })
        expect(readFileSync(file, 'utf8')).toBe(text)
        expect(home.blockedRequests).toEqual([])
      },
      programTimeoutMs + 10_000,
    )

    test.each(['responses', 'chat'] as const)(
      'Codex over an upstream of format %s',
      async (wireFormat) => {
        const file = freshFile()
        scriptToolCall(wireFormat, shellCall)
        const { code, output, errors } = await runCodex(wireFormat)
        expect({ code, text: code === 0 ? '' : output + errors }).toEqual({ code: 0, text: '' })
        expect(output).toContain(finalText)
        expect(readFileSync(file, 'utf8')).toBe(text)
        expect(home.blockedRequests).toEqual([])
      },
      programTimeoutMs + 10_000,
    )

    test(
      'Claude Code shows why it is rejected, and calls no upstream',
      async () => {
        const before = lab.upstream.requests.length
        const { output } = await runClaude('messages', lab.poorKey)
        expect(JSON.parse(output)).toMatchObject({ is_error: true, api_error_status: 402 })
        expect(output).toContain('no credits left')
        expect(lab.upstream.requests).toHaveLength(before)
      },
      programTimeoutMs + 10_000,
    )

    test(
      'Codex shows at once that a model does not exist',
      async () => {
        const { code, output } = await runCodex('chat', 'lab/none')
        expect(code).not.toBe(0)
        expect(output).toContain('lab/none')
      },
      programTimeoutMs + 10_000,
    )
  })
}
