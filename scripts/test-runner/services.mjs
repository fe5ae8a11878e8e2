// What test files need besides Bun: databases, a browser, compiled programs. Only what the selected files import, all at
// a time.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepareBubblewrap } from '../bubblewrap.mjs'
import { prepareChromium } from '../chromium.mjs'
import { findCompiled } from '../compiled.mjs'
import { findBunBinary, root } from '../install.mjs'
import { startPostgres } from '../postgres.mjs'
import { preparePrometheus } from '../prometheus.mjs'
import { startS3 } from '../s3.mjs'
import { findPython, preparePython } from '../toolchains.mjs'
import { startValkey } from '../valkey.mjs'

/**
 * Each: the module that uses it, what is missing without it and what that means, and how to prepare its variables.
 * `isOptional`: too large to be installed by every run, CI included. `isProcess`: the tests that use it start it, and mostly wait for it.
 */
const services = [
  {
    module: 'test/support/databases.ts',
    missing: 'PostgreSQL: install it, or set TEST_DATABASE_URL. Without it, all tests use SQLite only.',
    prepare: preparePostgres,
  },
  {
    module: 'test/support/s3.ts',
    missing: 'the S3 server of the tests. Without it, the tests of S3 storage are skipped.',
    prepare: async (cleanUps) => {
      const s3 = await startS3()
      if (s3) cleanUps.push(s3.stop)
      return s3 && { TEST_S3_URL: s3.url }
    },
  },
  {
    module: 'test/support/valkey.ts',
    missing: 'the Valkey server of the tests. Without it, the tests of state that nodes share are skipped.',
    prepare: async (cleanUps) => {
      const valkey = await startValkey()
      if (valkey) cleanUps.push(valkey.stop)
      return valkey && { TEST_REDIS_URL: valkey.url, TEST_VALKEY: valkey.program }
    },
  },
  {
    module: 'test/support/clickhouse.ts',
    isOptional: true,
    missing:
      'the engine of ClickHouse, which npm run test:long -- clickhouse installs. Without it, its tests are skipped.',
    prepare: () => {
      const interpreter = findPython(join(root, 'test', 'long'), 'clickhouse')
      return interpreter && { HEADGATE_TEST_CLICKHOUSE: interpreter }
    },
  },
  {
    module: 'test/support/containers.ts',
    missing:
      'bubblewrap, or the permission to create user namespaces. Without it, the tests of containers are skipped.',
    prepare: async () => {
      const bwrap = await prepareBubblewrap()
      return bwrap && { TEST_BWRAP: bwrap }
    },
  },
  {
    module: 'test/support/chromium.ts',
    isProcess: true,
    missing: 'Chromium: install it, or set TEST_CHROMIUM. Without it, the tests in a browser are skipped.',
    prepare: async () => {
      const [chromium] = await Promise.all([
        prepareChromium(),
        run(process.execPath, ['scripts/console.mjs'], 'inherit'),
      ])
      return chromium && { TEST_CHROMIUM: chromium }
    },
  },
  {
    module: 'test/support/otlp.ts',
    missing: 'the Python packages of OTLP. Without them, exports are not decoded.',
    prepare: async () => {
      const python = await preparePython(join(root, 'test', 'support'), 'otlp-decoder')
      return python && { TEST_OTLP_PYTHON: python }
    },
  },
  {
    module: 'test/support/prometheus.ts',
    missing: 'Prometheus: install it. Without it, queries of dashboards and alerts are not executed.',
    prepare: () => {
      const folder = preparePrometheus()
      return folder && { TEST_PROMETHEUS: folder }
    },
  },
  {
    module: 'test/support/packaging-tools.ts',
    missing: 'Helm and the validators of packages. Without them, the tests of packaging are skipped.',
    prepare: async () => {
      const python = await preparePython(join(root, 'test', 'support'), 'packaging-tools')
      return python && { TEST_PACKAGING_PYTHON: python }
    },
  },
  {
    module: 'test/support/program.ts',
    isProcess: true,
    missing: 'the compiled server. Without it, tests start it from source.',
    prepare: async () => {
      await run(process.execPath, ['scripts/compiled.mjs'], 'inherit')
      const program = findCompiled()
      return program && { TEST_PROGRAM: program }
    },
  },
  {
    module: 'test/faults/gateways.ts',
    isProcess: true,
    missing: 'the compiled server with kill points. Without it, the tests of crashes start it from source.',
    prepare: compileFaultProgram,
  },
]

/** Whether tests mostly wait for other processes, by the modules that they need. */
export function waitsForProcess(isNeeded) {
  return services.some(({ module, isProcess }) => isProcess && isNeeded(module))
}

/** The variables for the tests; in CI, null if something is missing. Adds to `cleanUps` what ends with the run. */
export async function prepareServices(isNeeded, cleanUps) {
  const needed = services.filter(({ module }) => isNeeded(module))
  const prepared = await Promise.all(needed.map((service) => service.prepare(cleanUps)))
  const missing = needed.filter((_, index) => !prepared[index])
  for (const service of missing) process.stderr.write(`Missing: ${service.missing}\n`)
  const isIncomplete = missing.some(({ isOptional }) => !isOptional)
  return isIncomplete && process.env.CI ? null : Object.assign({}, ...prepared)
}

/** Resolves to the status of a program. */
async function run(command, args, output) {
  const [status] = await once(
    spawn(command, args, { cwd: root, stdio: ['ignore', output, 'inherit'] }),
    'close',
  )
  return status
}

async function preparePostgres(cleanUps) {
  const url = process.env.TEST_DATABASE_URL
  if (url) return { TEST_DATABASE_URL: url, TEST_DATABASE_PRIVATE: 'false' }
  // With hundreds of short-lived databases, vacuuming would never rest.
  const postgres = await startPostgres([
    'autovacuum=off',
    'jit=off',
    'wal_level=minimal',
    'max_wal_senders=0',
  ])
  if (!postgres) return null
  cleanUps.push(postgres.stop)
  return { TEST_DATABASE_URL: postgres.url, TEST_DATABASE_PRIVATE: 'true' }
}

async function compileFaultProgram(cleanUps) {
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache', 'faults-'))
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'headgate')
  const sources = ['test/faults/program.ts', 'test/faults/kill-points.ts']
  const status = await run(findBunBinary(), ['scripts/compile.ts', program, ...sources], 'ignore')
  return status === 0 ? { TEST_FAULT_PROGRAM: program } : null
}
