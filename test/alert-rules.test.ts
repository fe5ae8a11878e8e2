import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { alertsPath, rules } from './support/monitoring-files.ts'
import { hasPrometheus, programOf } from './support/prometheus.ts'

/** Values of each series, one a minute, in promtool's notation: `0+10x120` increases by 10 a hundred and twenty times. */
type Series = Record<string, string>

interface Case {
  /** When the alert is read. */
  minutes: number
  firing: Series[]
  quiet: Series[]
}

const attempts = (error: string, ok: string): Series => ({
  'headgate_attempts_total{provider="one",outcome="error",error_type="timeout"}': error,
  'headgate_attempts_total{provider="one",outcome="error",error_type="overloaded"}': '0x400',
  'headgate_attempts_total{provider="one",outcome="ok"}': ok,
})
const requests = (failed: string, completed: string): Series => ({
  'headgate_requests_total{model="a",outcome="failed"}': failed,
  'headgate_requests_total{model="a",outcome="completed"}': completed,
})
const firstTokens = (within: string, all: string, bound = '5'): Series => ({
  [`headgate_time_to_first_token_seconds_bucket{model="a",le="${bound}"}`]: within,
  'headgate_time_to_first_token_seconds_count{model="a"}': all,
})
const limit = 'headgate_limits_reached_total{workspace="w",limit="key",measure="usd",window="lifetime"}'
const jobFailures = (task: string) => `headgate_job_failures_total{task="${task}"}`
const unrecovered = 'headgate_interrupted_requests_total{outcome="unrecovered"}'
const disk = (free: string): Series => ({
  headgate_data_disk_free_bytes: free,
  headgate_data_disk_size_bytes: '1000x60',
})

/** One series with a value that fires, and one that does not. */
function gauge(series: string, minutes: number, firing: number, quiet: number): Case {
  return {
    minutes,
    firing: [{ [series]: `${firing}x${minutes}` }],
    quiet: [{ [series]: `${quiet}x${minutes}` }],
  }
}

const cases: Record<string, Case> = {
  HeadgateDown: gauge('up{job="headgate",instance="a"}', 5, 0, 1),
  HeadgateAvailabilityFastBurn: {
    minutes: 120,
    firing: [requests('0+10x120', '0+90x120')],
    // Too few failures; failures that have ended.
    quiet: [requests('0+5x120', '0+95x120'), requests('0+20x100 2000x20', '0+80x120')],
  },
  HeadgateAvailabilitySlowBurn: {
    minutes: 400,
    firing: [requests('0+4x400', '0+96x400')],
    quiet: [requests('0+2x400', '0+98x400'), requests('0+9x350 3150x50', '0+91x400')],
  },
  HeadgateLatencyFastBurn: {
    minutes: 120,
    firing: [firstTokens('0+20x120', '0+100x120'), firstTokens('0+20x120', '0+100x120', '5.0')],
    quiet: [firstTokens('0+50x120', '0+100x120'), firstTokens('0+99x120', '0+100x120', '5.0')],
  },
  HeadgateLatencySlowBurn: {
    minutes: 400,
    firing: [firstTokens('0+60x400', '0+100x400')],
    quiet: [firstTokens('0+80x400', '0+100x400')],
  },
  HeadgateProviderDown: {
    minutes: 20,
    firing: [attempts('0+95x20', '0+5x20')],
    quiet: [attempts('0+50x20', '0+50x20')],
  },
  HeadgateProviderFailing: {
    minutes: 40,
    firing: [attempts('0+20x40', '0+80x40')],
    quiet: [attempts('0+5x40', '0+95x40')],
  },
  HeadgateEndpointRestricted: {
    minutes: 30,
    firing: [{ 'headgate_endpoint_restricted{model="a",endpoint="one",reason="ejection"}': '1x30' }],
    quiet: [{ 'headgate_endpoint_restricted{model="a",endpoint="one",reason="ejection"}': '1x10 stale' }],
  },
  HeadgateLimitReached: {
    minutes: 60,
    // An increase, and a limit that was never reached before.
    firing: [{ [limit]: '5x50 6x10' }, { [limit]: '_x55 1x5' }],
    quiet: [{ [limit]: '5x60' }],
  },
  HeadgateLedgerDown: gauge('headgate_ledger_up{instance="a"}', 5, 0, 1),
  HeadgateLedgerCheckFailed: gauge('headgate_check_sound{check="ledger"}', 5, 0, 1),
  HeadgateUnrecoveredRequests: {
    minutes: 60,
    firing: [{ [unrecovered]: '0x40 1x20' }],
    quiet: [{ [unrecovered]: '1x60' }],
  },
  HeadgateJournalBacklog: {
    minutes: 20,
    firing: [
      { headgate_ledger_journal_bytes: '300000000x20', headgate_ledger_waiting: '0x20' },
      { headgate_ledger_journal_bytes: '0x20', headgate_ledger_waiting: '2000x20' },
    ],
    quiet: [{ headgate_ledger_journal_bytes: '200000000x20', headgate_ledger_waiting: '1000x20' }],
  },
  HeadgateAuditCheckFailed: {
    minutes: 30,
    firing: [{ [jobFailures('audit anchors')]: '0x10 1+1x20' }],
    quiet: [{ [jobFailures('audit anchors')]: '3x30', [jobFailures('other')]: '0+1x30' }],
  },
  HeadgateJobFailing: {
    minutes: 90,
    firing: [{ [jobFailures('prices')]: '0+1x90' }],
    quiet: [{ [jobFailures('prices')]: '0x60 1x30' }],
  },
  HeadgateOutboxLag: gauge('headgate_delivery_queue_oldest_seconds{type="webhook"}', 10, 1000, 600),
  HeadgateDatabaseDown: gauge('headgate_database_up{instance="a"}', 5, 0, 1),
  HeadgateDatabaseSlow: gauge('headgate_database_probe_seconds{instance="a"}', 20, 0.9, 0.1),
  HeadgateDiskFull: { minutes: 10, firing: [disk('50x10')], quiet: [disk('200x10')] },
  HeadgateClockSkew: {
    minutes: 20,
    // Its time begins at zero.
    firing: [{ headgate_clock_seconds: '60+60x20' }, { headgate_clock_seconds: '-60+60x20' }],
    quiet: [{ headgate_clock_seconds: '2+60x20' }],
  },
  HeadgateEventLoopDelay: gauge('headgate_nodejs_eventloop_lag_p99_seconds{instance="a"}', 10, 0.5, 0.05),
}

/** A test of promtool: the number of alerts of this name that fire. */
function toTest(alert: string, minutes: number, series: Series, count: number): object {
  const expr = `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`
  return {
    name: alert,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{ expr, eval_time: `${minutes}m`, exp_samples: [{ labels: '{}', value: count }] }],
  }
}

test('every alert has a series that makes it fire, and one that does not', () => {
  expect(Object.keys(cases).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
  for (const { firing, quiet } of Object.values(cases)) {
    expect(firing.length).toBeGreaterThan(0)
    expect(quiet.length).toBeGreaterThan(0)
  }
})

test.skipIf(!hasPrometheus)('alerts fire only when they have to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-alerts-'))
  const path = join(folder, 'tests.json')
  const tests = Object.entries(cases).flatMap(([alert, { minutes, firing, quiet }]) => [
    ...firing.map((series) => toTest(alert, minutes, series, 1)),
    ...quiet.map((series) => toTest(alert, minutes, series, 0)),
  ])
  // JSON is YAML.
  const file = { rule_files: [resolve(alertsPath)], evaluation_interval: '1m', tests }
  await Bun.write(path, JSON.stringify(file))
  const { exitCode, stdout, stderr } = Bun.spawnSync([programOf('promtool'), 'test', 'rules', path])
  rmSync(folder, { recursive: true })
  expect([exitCode, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')])
})
