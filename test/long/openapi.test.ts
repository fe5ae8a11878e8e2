import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

/** Where scripts/test-long.mjs put schemathesis; without it this file is not for this run. */
const python = process.env.HEADGATE_TEST_SCHEMATHESIS ?? ''

const patience = 20 * 60_000

/** A namespace of its own has a loopback interface and no way out: what the requests name cannot be reached. */
const isolated = ['unshare', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

async function schemathesis(kind: string): Promise<{ code: number; output: string }> {
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
  describe('openapi.json says what the server does', () => {
    for (const kind of ['management', 'inference']) {
      test(
        `${kind} operations`,
        async () => {
          const { code, output } = await schemathesis(kind)
          if (code !== 0) console.error(output)
          expect(code).toBe(0)
        },
        patience,
      )
    }
  })
}
