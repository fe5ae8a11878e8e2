// A gateway in Go to compare with. It is measured if it is on the PATH, and never installed.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort, minimalEnvironment, startProcess } from '../processes.ts'

export const findBifrost = () => Bun.which('bifrost-http')

/** Starts Bifrost with its configuration in a file, and without the database of its console and its log of requests. */
export async function startBifrost(mockPort: number) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
  const port = await findFreePort()
  const settings = {
    client: { drop_excess_requests: false, enable_logging: false },
    providers: {
      openai: {
        keys: [{ name: 'bench', value: 'bench', models: ['*'], weight: 1 }],
        network_config: { base_url: `http://127.0.0.1:${mockPort}` },
      },
    },
    config_store: { enabled: false },
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(settings))
  const place = ['-app-dir', folder, '-host', '127.0.0.1', '-port', String(port)]
  const child = await startProcess({
    command: [findBifrost() ?? '', ...place, '-log-level', 'error'],
    cwd: folder,
    env: minimalEnvironment,
    folder,
    ready: port,
  })
  return { child, port }
}
