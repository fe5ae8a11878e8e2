import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { callerKinds } from './openapi/config.ts'

/** Interpreter with which scripts/test-long.mjs installed Schemathesis; without it this file has no tests. */
const python = process.env.HEADGATE_TEST_SCHEMATHESIS ?? ''

const timeoutMs = 20 * 60_000

/** A separate network namespace with loopback only: addresses in the requests cannot be reached. */
const isolated = ['unshare', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

async function runSchemathesis(kind: string): Promise<{ code: number; output: string }> {
  const script = join(import.meta.dir, 'openapi', 'run.ts')
  const child = Bun.spawn([...isolated, process.execPath, '--no-env-file', script, python, kind], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, output: output + errors }
}

if (python) {
  describe('openapi.json matches the server', () => {
    for (const kind of callerKinds) {
      test(
        `operations of the caller ${kind}`,
        async () => {
          const { code, output } = await runSchemathesis(kind)
          if (code !== 0) console.error(output)
          expect(code).toBe(0)
        },
        timeoutMs,
      )
    }
  })
}
