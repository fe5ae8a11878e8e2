import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isPostgresUrl } from '../src/platform/db/db.ts'
import { describeOnEachDatabase, type TestServer } from './support/harness.ts'
import { program } from './support/program.ts'

/** Runs a command of the program, as an operator does, next to the running server. */
async function runCommand({ gateway }: TestServer, ...args: string[]) {
  const { dataDir, databaseUrl } = gateway.config
  const child = Bun.spawn([...program, '--json', ...args], {
    cwd: tmpdir(),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      LOG_LEVEL: 'silent',
      HEADGATE_DATA_DIR: dataDir,
      HEADGATE_CONFIG: join(dataDir, 'headgate.yaml'),
      ...(isPostgresUrl(databaseUrl) && { DATABASE_URL: databaseUrl }),
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, value: stdout === '' ? null : JSON.parse(stdout), stderr }
}

function withFile<T>(name: string, text: string, use: (path: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-benchmark-'))
  const path = join(folder, name)
  writeFileSync(path, text)
  return use(path).finally(() => rmSync(folder, { recursive: true }))
}

describeOnEachDatabase('headgate benchmark', (server, kind) => {
  const list = async (query: string) => {
    const { gateway, own } = server()
    await gateway.benchmarks.poll(gateway.db)
    return (await server().call('GET', `/benchmarks?${query}`, { key: own.inferenceKey })).body
  }
  const runTasks = (file: string, ...args: string[]) => {
    const { url, own } = server()
    const path = resolve(file)
    return runCommand(server(), 'benchmark', 'run', path, '--url', url, '--key', own.inferenceKey, ...args)
  }

  test('import stores scores with their source and date, and reports what it did not find', async () => {
    const entry = (name: string, slug: string) => ({
      name,
      slug,
      model_creator: { slug: 'sandbox' },
      evaluations: { artificial_analysis_intelligence_index: 41.5, artificial_analysis_coding_index: 30 },
    })
    const file = { data: [entry('Echo', 'echo'), entry('Unheard Of 9', 'unheard-of-9')] }
    const args = [
      '--source',
      'artificial-analysis',
      '--date',
      '2026-11-01',
      '--source-url',
      'https://a.example/data',
    ]
    const imported = await withFile('file.json', JSON.stringify(file), async (path) => [
      await runCommand(server(), 'benchmark', 'import', path, ...args),
      await runCommand(server(), 'benchmark', 'import', path, ...args),
      await runCommand(
        server(),
        'benchmark',
        'import',
        path,
        ...args,
        '--match',
        'Unheard Of 9=sandbox/reasoner',
      ),
    ])
    const source = 'artificial-analysis'
    const counts = { updated: 0, outdated: 0, superseded: [] }
    const unmatched = ['Unheard Of 9']
    expect(imported.map(({ value }) => value)).toEqual([
      { source, models: 1, added: 2, unchanged: 0, ...counts, unmatched },
      { source, models: 1, added: 0, unchanged: 2, ...counts, unmatched },
      { source, models: 2, added: 2, unchanged: 2, ...counts, unmatched: [] },
    ])
    const { data, meta } = await list('source=artificial-analysis')
    expect(data.map((item: { model_permaslug: string }) => item.model_permaslug)).toEqual([
      'sandbox/echo',
      'sandbox/reasoner',
    ])
    expect(meta).toMatchObject({ as_of: '2026-11-01T00:00:00.000Z', source_url: 'https://a.example/data' })
  })

  test('run sends the tasks to the gateway, charges them, and stores accuracy, cost and latency', async () => {
    const models = 'sandbox/echo,sandbox/reasoner'
    const { code, value } = await runTasks(
      'docs/benchmarks/first_steps.jsonl',
      '--models',
      models,
      '--repeats',
      '2',
    )
    expect(code).toBe(0)
    expect(value).toMatchObject({
      benchmark: 'first_steps',
      results: [
        { model: 'sandbox/echo', accuracy: 0.5, deviation: 0, tasks: 12 },
        { model: 'sandbox/reasoner', accuracy: 0.5, tasks: 12 },
      ],
    })
    const { data } = await list('source=service&benchmark_type=first_steps&task_type=intelligence')
    const echo = data.find((item: { model_permaslug: string }) => item.model_permaslug === 'sandbox/echo')
    expect(echo).toMatchObject({ accuracy: 0.5, accuracy_stddev: 0, total_tasks: 12 })
    expect(echo.avg_cost_per_task).toBe(value.results[0].average_cost)
    expect(echo.avg_cost_per_task).toBeGreaterThan(0)
    const { body } = await server().call('GET', '/credits')
    expect(body.data.total_usage).toBeCloseTo(value.cost, 9)
  })

  // The database makes no difference to the rest.
  if (kind !== 'sqlite') return

  test('a file that cannot be read is an error of one line', async () => {
    const { code, stderr } = await withFile('file.json', '{', (path) =>
      runCommand(server(), 'benchmark', 'import', path, '--source', 'service'),
    )
    expect([code, stderr]).toEqual([1, 'headgate: The file is not valid JSON.\n'])
  })

  test('a budget stops a run before it is exceeded, and --resume continues it', async () => {
    const tasks = [
      'docs/benchmarks/extraction.jsonl',
      '--models',
      'sandbox/echo',
      '--concurrency',
      '1',
    ] as const
    const stopped = await runTasks(...tasks, '--budget', '0.00077')
    expect(stopped.code).toBe(1)
    // The worst case of the third task is $0.00075625, and the first two cost $0.00003.
    expect(stopped.stderr).toContain('exceeded: 2 of 4 tasks are answered')
    expect(
      (await list('source=service&task_type=intelligence')).data.map(
        (item: { benchmark_type: string }) => item.benchmark_type,
      ),
    ).not.toContain('extraction')

    const refused = await runTasks(...tasks)
    expect(refused.stderr).toContain('Continue it with --resume')
    const { code, value } = await runTasks(...tasks, '--budget', '1', '--resume')
    expect(code).toBe(0)
    expect(value.results).toEqual([expect.objectContaining({ tasks: 4, accuracy: 0.75, deviation: null })])
    expect((await runTasks(...tasks, '--resume')).stderr).toContain('no interrupted run')
  })

  test('a run can be listed, inspected task by task, and deleted with its scores', async () => {
    const args = ['--models', 'sandbox/echo', '--name', 'short_lived'] as const
    const { run } = (await runTasks('docs/benchmarks/extraction.jsonl', ...args)).value
    const { runs } = (await runCommand(server(), 'benchmark', 'runs')).value
    const listed = runs.find((item: { run: string }) => item.run === run)
    expect(listed).toMatchObject({ benchmark: 'short_lived', status: 'finished', answered: 4, correct: 3 })
    const shown = (await runCommand(server(), 'benchmark', 'show', run, '--wrong')).value
    expect(shown.answers).toEqual([expect.objectContaining({ model: 'sandbox/echo', correct: false })])
    expect(shown.answers[0].prompt).not.toBe('')
    expect(shown.answers[0].reply).not.toBe('')

    const count = async () => {
      const { data } = await list('source=service&task_type=intelligence')
      return data.filter((item: { benchmark_type: string }) => item.benchmark_type === 'short_lived').length
    }
    expect(await count()).toBe(1)
    expect((await runCommand(server(), 'benchmark', 'delete', run)).value).toEqual({ run, scores: 1 })
    expect(await count()).toBe(0)
    const again = await runCommand(server(), 'benchmark', 'delete', run)
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining(`There is no run ${run}`)])
  })

  test('results of one endpoint are for routing only', async () => {
    const args = ['--models', 'sandbox/echo', '--provider', 'sandbox', '--name', 'at_endpoint'] as const
    expect((await runTasks('docs/benchmarks/extraction.jsonl', ...args)).code).toBe(0)
    const { gateway } = server()
    const rows = await gateway.db
      .selectFrom('benchmark_results')
      .selectAll()
      .where('benchmark', '=', 'at_endpoint')
      .execute()
    expect(rows).toEqual([expect.objectContaining({ endpoint: 'sandbox', model: 'sandbox/echo', tasks: 4 })])
    expect((await server().call('GET', '/benchmarks?benchmark_type=at_endpoint')).status).toBe(400)
  })

  test.each([
    [['--models', 'sandbox/nothing'], 'sandbox/nothing is not in the catalog'],
    [['--models', 'sandbox/echo', '--provider', 'alpha'], 'has no endpoint alpha: it has sandbox'],
    [['--models', 'sandbox/echo', '--name', 'search_hle'], 'must not be a search benchmark'],
  ])('%j is an error', async (args, message) => {
    const { code, stderr } = await runTasks('docs/benchmarks/extraction.jsonl', ...args)
    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })

  test('tasks of the kind code are refused without containers', async () => {
    const task = '{"kind": "code", "prompt": "Write f.", "language": "python", "tests": "import solution"}'
    const { code, stderr } = await withFile('code.jsonl', task, (path) =>
      runTasks(path, '--models', 'sandbox/echo'),
    )
    expect(code).toBe(1)
    expect(stderr).toContain('Enable them with containers.engine in headgate.yaml')
  })
})
