import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findFreePort } from '../../scripts/postgres.mjs'
import { waitUntil } from './wait-until.ts'

const folder = process.env.TEST_PROMETHEUS

/** The test runner fails in CI when there is no Prometheus. */
export const hasPrometheus = folder !== undefined

/** A program of Prometheus. */
export function programOf(name: 'prometheus' | 'promtool'): string {
  return join(folder ?? '', name)
}

interface Sample {
  metric: Record<string, string>
  /** The time, and the value as text. A native histogram has none. */
  value?: [number, string]
  histogram?: [number, { count: string; sum: string }]
}

interface ExemplarSeries {
  seriesLabels: Record<string, string>
  exemplars: { labels: Record<string, string>; value: string }[]
}

interface RuleGroup {
  rules: { name: string; health: string; lastError?: string; state: string; lastEvaluation: string }[]
}

/** A server that scrapes one target every second. */
export class TestPrometheus {
  readonly #url: string
  readonly #process: Bun.Subprocess
  readonly #data: string

  private constructor(url: string, process: Bun.Subprocess, data: string) {
    this.#url = url
    this.#process = process
    this.#data = data
  }

  static async start(
    target: string,
    { features, rules = [] }: { features: readonly string[]; rules?: readonly string[] },
  ): Promise<TestPrometheus> {
    const data = mkdtempSync(join(tmpdir(), 'headgate-prometheus-'))
    const port = await findFreePort()
    const scrape = { job_name: 'headgate', static_configs: [{ targets: [new URL(target).host] }] }
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: rules.map((path) => resolve(path)),
      scrape_configs: [scrape],
    }
    // JSON is YAML.
    await Bun.write(join(data, 'prometheus.yml'), JSON.stringify(config))
    const process = Bun.spawn(
      [
        programOf('prometheus'),
        `--config.file=${join(data, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(data, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        `--enable-feature=${features.join(',')}`,
      ],
      { stdout: 'ignore', stderr: Bun.file(join(data, 'log')) },
    )
    const server = new TestPrometheus(`http://127.0.0.1:${port}`, process, data)
    await waitUntil(
      async () => (await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => null))?.ok === true,
      () => 'Prometheus did not start',
    )
    return server
  }

  /** Waits for two scrapes that begin from now on. */
  async scrape(): Promise<void> {
    for (let count = 0; count < 2; count++) {
      const now = Date.now() / 1000
      await waitUntil(
        async () => {
          const [[up], [at]] = await Promise.all([this.query('up == 1'), this.query('timestamp(up)')])
          return up !== undefined && Number(at?.value?.[1] ?? 0) > now
        },
        () => 'Prometheus did not scrape the server',
      )
    }
  }

  query(query: string): Promise<Sample[]> {
    return this.#read<{ result: Sample[] }>('query', { query }).then(({ result }) => result)
  }

  queryExemplars(query: string): Promise<ExemplarSeries[]> {
    const now = Date.now() / 1000
    return this.#read('query_exemplars', { query, start: `${now - 3600}`, end: `${now + 60}` })
  }

  listLabelValues(series: string, label: string): Promise<string[]> {
    return this.#read(`label/${label}/values`, { 'match[]': series })
  }

  async listRules(): Promise<RuleGroup['rules']> {
    const { groups } = await this.#read<{ groups: RuleGroup[] }>('rules', {})
    return groups.flatMap(({ rules }) => rules)
  }

  async #read<T>(path: string, parameters: Record<string, string>): Promise<T> {
    const response = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string }
    if (status !== 'success') throw new Error(`${path} ${JSON.stringify(parameters)}: ${error}`)
    return data
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.exited
    rmSync(this.#data, { recursive: true, force: true })
  }
}
