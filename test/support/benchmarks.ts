import type { BenchmarkResult } from '../../src/catalog/benchmarks/result.ts'
import { BenchmarkSnapshot } from '../../src/catalog/benchmarks/snapshot.ts'

/** A result with plausible values for everything that a test does not set. */
export function buildResult(fields: Partial<BenchmarkResult> = {}): BenchmarkResult {
  return {
    source: 'artificial-analysis',
    benchmark: 'coding',
    model: 'acme/large',
    endpoint: '',
    variant: '',
    runId: '',
    displayName: 'Large',
    score: 50,
    deviation: null,
    costNanos: null,
    latencyMs: null,
    tasks: null,
    measuredAt: '2026-11-01T00:00:00.000Z',
    details: {},
    sourceUrl: null,
    importedAt: '2026-11-02T00:00:00.000Z',
    ...fields,
  }
}

/** A run of a benchmark by this installation. */
export function buildRun(fields: Partial<BenchmarkResult> = {}): BenchmarkResult {
  return buildResult({
    source: 'service',
    benchmark: 'tau_bench_verified_airline',
    score: 0.8,
    tasks: 50,
    runId: fields.measuredAt ?? 'run',
    ...fields,
  })
}

/** Built at once. */
export function buildSnapshot(results: BenchmarkResult[]): BenchmarkSnapshot {
  const steps = BenchmarkSnapshot.build({ version: 1, results })
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
