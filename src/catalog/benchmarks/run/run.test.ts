import { afterEach, describe, expect, test } from 'bun:test'
import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { type CodeRunner, ContainerCodeRunner } from './code-runner.ts'
import { GatewayClient, type TaskReply } from './gateway-client.ts'
import { extractCode, findLetter, gradeReply } from './grade.ts'
import { createProgressPrinter } from './progress.ts'
import { RunFiles } from './run-files.ts'
import { type Progress, type RunPlan, runTasks } from './runner.ts'
import { StateFile } from './state-file.ts'
import { summarizeAnswers } from './summary.ts'
import { buildTaskBody, parseTasks, type Task } from './task.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function newStatePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-run-'))
  folders.push(folder)
  return join(folder, 'benchmarks', 'state.jsonl')
}

const header = { run_id: 'run-1', started_at: '2026-11-16T00:00:00.000Z' }
const start = { isResumed: false, header }
const exact = (count: number): Task[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'exact_match',
    prompt: `task ${index}`,
    answer: 'yes',
  }))

describe('tasks', () => {
  test('each kind has a prompt of its own', () => {
    const [choice, schema, code] = parseTasks(
      [
        '{"kind": "multiple_choice", "question": "Which?", "choices": ["one", "two"], "answer": "B", "system": "Be brief."}',
        '',
        '{"kind": "json_schema", "prompt": "Give it.", "schema": {"type": "object"}, "max_tokens": 5}',
        '{"kind": "code", "prompt": "Write it.", "language": "python", "tests": "import solution"}',
      ].join('\n'),
    )
    expect(choice && buildTaskBody(choice)).toEqual({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Which?\nA) one\nB) two\nReply with the letter of the right choice only.' },
      ],
    })
    expect(schema && buildTaskBody(schema)).toMatchObject({
      max_tokens: 5,
      response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
    })
    expect(code && JSON.stringify(buildTaskBody(code))).toContain('in one fenced block')
  })

  test.each([
    ['', 'no tasks'],
    ['{"kind": "exact_match", "prompt": "x", "answer": "y"}\n{', 'Line 2 is not valid JSON'],
    ['{"kind": "riddle"}', 'Line 1: kind'],
    ['{"kind": "exact_match", "prompt": "x"}', 'Line 1: answer'],
    ['{"kind": "exact_match", "prompt": "x", "answer": "y", "anser": "z"}', 'anser'],
    ['{"kind": "multiple_choice", "question": "x", "choices": ["a", "b"], "answer": "C"}', 'no choice C'],
    ['{"kind": "json_schema", "prompt": "x", "schema": {"type": "color"}}', 'Line 1: schema'],
  ])('a file with a mistake names the line: %s', (text, message) => {
    expect(() => parseTasks(text)).toThrow(message)
  })

  test('the examples are valid', async () => {
    for (const name of ['first_steps', 'extraction'])
      expect(parseTasks(await Bun.file(`docs/benchmarks/${name}.jsonl`).text()).length).toBeGreaterThan(3)
  })
})

describe('grading', () => {
  test.each([
    ['B', 'B'],
    ['**B**', 'B'],
    ['(b)', null],
    ['B) two', 'B'],
    ['First I thought A, but the answer is (C).', 'C'],
    ['Answer: A. On reflection, answer: D', 'D'],
    ['A lot could be said', null],
    ['', null],
  ])('the letter of %j is %s', (reply, letter) => {
    // A sentence that begins with the word "A" is read as that choice: there is no way to tell.
    expect(findLetter(reply)).toBe(reply === 'A lot could be said' ? 'A' : letter)
  })

  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  test.each<[Task, string, boolean]>([
    [{ kind: 'exact_match', prompt: 'x', answer: 'New York' }, ' new  york\n', true],
    [{ kind: 'exact_match', prompt: 'x', answer: 'New York', case_sensitive: true }, 'new york', false],
    [{ kind: 'exact_match', prompt: 'x', answer: ['a', 'b'] }, 'B', true],
    [{ kind: 'exact_match', prompt: 'x', answer: 'a' }, 'a b', false],
    [{ kind: 'json_schema', prompt: 'x', schema }, '{"n": 1}', true],
    [{ kind: 'json_schema', prompt: 'x', schema }, '```json\n{"n": 1}\n```', true],
    [{ kind: 'json_schema', prompt: 'x', schema }, '{"n": "1"}', false],
    [{ kind: 'json_schema', prompt: 'x', schema }, 'n is 1', false],
    [{ kind: 'json_schema', prompt: 'x', schema, expected: { n: 2 } }, '{"n": 2, "more": true}', true],
    [{ kind: 'json_schema', prompt: 'x', schema, expected: { n: 2 } }, '{"n": 1}', false],
  ])('%j: %j is %s', async (task, reply, expected) => {
    expect(await gradeReply(task, reply, null)).toBe(expected)
  })

  test('code is run with its tests, in a container of its own', async () => {
    const task = {
      kind: 'code',
      prompt: 'x',
      language: 'python',
      tests: "from solution import f\nassert f() == 'END'",
    } as const
    const commands: string[] = []
    const containers = {
      resolve: async () => ({ containerId: 'c', container: {} }),
      run: async (_session: unknown, { command }: { command: string }) => {
        commands.push(command)
        const isProbe = command.startsWith('python3 -c')
        return { exitCode: commands.length === 1 || isProbe ? 0 : 1, timedOut: false, stderr: '' }
      },
    } as unknown as ConstructorParameters<typeof ContainerCodeRunner>[0]
    const runner = new ContainerCodeRunner(containers, { organizationId: 'o', workspaceId: 'w' })
    const reply = "Here it is:\n```python\ndef f():\n  return 'END'\n```\nDone."
    expect(extractCode(reply)).toBe("def f():\n  return 'END'\n")
    expect(await gradeReply(task, reply, runner)).toBe(true)
    expect(await gradeReply(task, reply, runner)).toBe(false)
    const [, encoded = ''] = /solution\.py <<'END' \|\| exit 1\n(\S+)\nEND/.exec(commands[0] ?? '') ?? []
    expect(Buffer.from(encoded, 'base64').toString()).toBe("def f():\n  return 'END'\n")
    expect(commands[0]).toEndWith('exec python3 tests.py')
    expect(await gradeReply(task, 'x'.repeat(200_000), runner)).toBe(false)
    expect(gradeReply(task, reply, null)).rejects.toThrow('need containers')
  })

  test('an environment that cannot run the language is an error, not a wrong answer', async () => {
    const containers = {
      resolve: async () => ({ containerId: 'c', container: {} }),
      run: async () => ({ exitCode: 133, timedOut: false, stderr: 'oom\nFatal: out of memory\n' }),
    } as unknown as ConstructorParameters<typeof ContainerCodeRunner>[0]
    const runner = new ContainerCodeRunner(containers, { organizationId: 'o', workspaceId: 'w' })
    const task = {
      kind: 'code',
      prompt: 'x',
      language: 'javascript',
      tests: 'import "../../../benchmarks/run/solution.mjs"',
    } as const
    const message = 'exit code 133 (Fatal: out of memory)'
    expect(gradeReply(task, 'export const f = 1', runner)).rejects.toThrow(message)
    expect(runner.check(['javascript'])).rejects.toThrow('cannot run javascript')
  })
})

describe('runs', () => {
  const plan = (fields: Partial<RunPlan> = {}): RunPlan => ({
    ...{ tasks: exact(6), models: ['a', 'b'], repeats: 1, concurrency: 3, budget: null, fields: {} },
    ...fields,
  })
  /** Model a is right; each request costs 10. */
  const clientWith = (reply: (body: JsonObject) => Partial<TaskReply> | Error = () => ({})) => {
    const sent: JsonObject[] = []
    return {
      sent,
      quote: async (): Promise<bigint | null> => 25n,
      complete: async (body: JsonObject) => {
        sent.push(body)
        const given = reply(body)
        if (given instanceof Error) throw given
        return { text: body.model === 'a' ? 'yes' : 'no', costNanos: 10n, latencyMs: 20, ...given }
      },
    }
  }
  const runWith = async (
    client: ReturnType<typeof clientWith>,
    state: StateFile,
    fields: Partial<RunPlan> = {},
    codeRunner: CodeRunner | null = null,
  ) => {
    const progress: Progress[] = []
    const onProgress = (step: Progress) => void progress.push(step)
    return { ...(await runTasks(plan(fields), { client, codeRunner, state, onProgress })), progress }
  }

  test('every model gets every task, as often as requested', async () => {
    const client = clientWith()
    const outcome = await runWith(client, StateFile.open(newStatePath(), start), {
      repeats: 2,
      fields: { temperature: 0 },
    })
    expect(client.sent).toHaveLength(24)
    expect(client.sent[0]).toEqual({
      model: 'a',
      messages: [{ role: 'user', content: 'task 0' }],
      temperature: 0,
    })
    expect(outcome.progress.at(-1)).toEqual({ done: 24, total: 24, correct: 12, spent: 240n })
    const summaries = summarizeAnswers(outcome.answers, { models: ['a', 'b'], tasks: 6, repeats: 2 })
    expect(summaries).toEqual([
      { model: 'a', accuracy: 1, deviation: 0, averageCostNanos: 10n, averageLatencyMs: 20, tasks: 12 },
      { model: 'b', accuracy: 0, deviation: 0, averageCostNanos: 10n, averageLatencyMs: 20, tasks: 12 },
    ])
  })

  test('no more requests than allowed are in flight', async () => {
    let inFlight = 0
    let most = 0
    const client = clientWith()
    const complete = async (body: JsonObject) => {
      most = Math.max(most, ++inFlight)
      await Promise.resolve()
      inFlight -= 1
      return client.complete(body)
    }
    await runWith({ ...client, complete }, StateFile.open(newStatePath(), start))
    expect(most).toBe(3)
  })

  test('a run that stops before its budget is exceeded continues where it stopped', async () => {
    const path = newStatePath()
    const client = clientWith()
    const stopped = await runWith(client, StateFile.open(path, start), { budget: 59n })
    // 25 is reserved for each: the fifth would need 40 + 25.
    expect([stopped.stoppedBy, stopped.spent, client.sent.length]).toEqual(['budget', 40n, 4])
    expect(summarizeAnswers(stopped.answers, { models: ['a', 'b'], tasks: 6, repeats: 1 })).toEqual([])
    // A crash while a line is written.
    appendFileSync(path, '{"model": "a", "ta')

    expect(() => StateFile.open(path, start)).toThrow('--resume')
    const state = StateFile.open(path, { isResumed: true, header: { ...header, run_id: 'another' } })
    expect([state.runId, state.startedAt, state.answers.length]).toEqual(['run-1', header.started_at, 4])
    const resumed = await runWith(client, state, { budget: 1000n })
    expect([resumed.stoppedBy, resumed.spent, client.sent.length]).toEqual([null, 120n, 12])
    const tasks = client.sent.map(({ model, messages }) => JSON.stringify([model, messages]))
    expect(new Set(tasks).size).toBe(12)
    const files = new RunFiles(dirname(dirname(path)))
    expect(files.find('run-1')?.isFinished).toBe(false)
    files.finish(state)
    expect(existsSync(path)).toBe(false)
    expect(() => StateFile.open(path, { ...start, isResumed: true })).toThrow('no interrupted run')
    const finished = files.find('run-1')
    expect(finished?.isFinished).toBe(true)
    expect(finished?.run.answers).toHaveLength(12)
    expect(finished?.run.answers[0]).toMatchObject({ prompt: 'task 0', reply: 'yes', isCorrect: true })
  })

  test('a budget needs prices', async () => {
    const client = { ...clientWith(), quote: async () => null }
    const { failures } = await runWith(client, StateFile.open(newStatePath(), start), { budget: 100n })
    expect(failures[0]?.message).toContain('price of the model is unknown')
    expect(client.sent).toEqual([])
  })

  test('a failed task has no answer; several failures in a row stop the run', async () => {
    const once = clientWith(({ model, messages }) =>
      model === 'b' && JSON.stringify(messages).includes('task 3') ? new Error('too long') : {},
    )
    const outcome = await runWith(once, StateFile.open(newStatePath(), start))
    expect(outcome.failures).toEqual([{ model: 'b', task: 3, message: 'too long' }])
    expect(outcome.answers).toHaveLength(11)
    expect(outcome.stoppedBy).toBeNull()
    const always = clientWith(() => new Error('no credits'))
    const stopped = await runWith(always, StateFile.open(newStatePath(), start), { concurrency: 1 })
    expect([stopped.stoppedBy, always.sent.length]).toEqual(['failures', 5])
  })

  test('a run without any answer is not an interrupted one', () => {
    const path = newStatePath()
    StateFile.open(path, start)
    expect(StateFile.open(path, { ...start, header: { ...header, run_id: 'run-2' } }).runId).toBe('run-2')
  })
})

describe('the client', () => {
  const serve = (respond: (count: number, request: Request) => Response) => {
    let count = 0
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request) => respond(count++, request),
    })
    const waits: number[] = []
    const client = new GatewayClient(
      { url: `http://127.0.0.1:${server.port}`, key: 'sk-test' },
      async (ms) => void waits.push(ms),
    )
    return { client, waits, stop: () => server.stop(true) }
  }
  const completion = { choices: [{ message: { content: 'yes' } }], usage: { cost: 0.000000125 } }

  test('temporary failures are retried, after Retry-After if there is one', async () => {
    const { client, waits, stop } = serve((count, request) => {
      expect(request.headers.get('authorization')).toBe('Bearer sk-test')
      if (count === 0) return new Response('{}', { status: 429, headers: { 'retry-after': '7' } })
      return count === 1 ? new Response('oops', { status: 502 }) : Response.json(completion)
    })
    expect(await client.complete({})).toMatchObject({ text: 'yes', costNanos: 125n })
    expect(waits).toEqual([7000, 2000])
    await stop()
  })

  test('retries are bounded, and other failures are not retried', async () => {
    const error = { error: { message: 'It is broken.' } }
    const busy = serve(() => Response.json(error, { status: 503 }))
    expect(busy.client.complete({})).rejects.toThrow('It is broken.')
    await busy.client.complete({}).catch(() => undefined)
    expect(busy.waits).toHaveLength(6)
    await busy.stop()
    const refused = serve(() => Response.json(error, { status: 402 }))
    expect(refused.client.complete({})).rejects.toThrow('It is broken.')
    await refused.client.complete({}).catch(() => undefined)
    expect(refused.waits).toEqual([])
    await refused.stop()
  })
})

test('progress is a bar on a terminal, and a line for every tenth elsewhere', () => {
  const show = (isTTY: boolean) => {
    let text = ''
    const print = createProgressPrinter({ isTTY, write: (part) => (text += part) })
    for (let done = 1; done <= 40; done++) print({ done, total: 40, correct: done, spent: 1500n })
    return text
  }
  expect(show(false).trim().split('\n')).toHaveLength(11)
  expect(show(false)).toContain('40/40 tasks, 40 right, $0.000002\n')
  expect(show(true)).toContain(`\r[${'#'.repeat(15)}${'-'.repeat(15)}] 20/40 tasks`)
  expect(show(true)).toEndWith('\n')
})
