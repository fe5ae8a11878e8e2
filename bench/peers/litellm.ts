// A gateway in Python to compare with. It is measured if it is on the PATH, and never installed.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort, minimalEnvironment, startProcess } from '../processes.ts'

export const findLitellm = () => Bun.which('litellm')

/** Starts LiteLLM without a database; one worker, like the one process of the others. */
export async function startLitellm(mockPort: number, models: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
  const port = await findFreePort()
  const settings = {
    model_list: models.map((model) => ({
      model_name: model,
      litellm_params: {
        model: `openai/${model}`,
        api_base: `http://127.0.0.1:${mockPort}/v1`,
        api_key: 'bench',
        input_cost_per_token: 0.00000015,
        output_cost_per_token: 0.0000006,
      },
    })),
  }
  const file = join(folder, 'config.yaml')
  writeFileSync(file, JSON.stringify(settings))
  const place = ['--host', '127.0.0.1', '--port', String(port), '--num_workers', '1']
  const child = await startProcess({
    command: [findLitellm() ?? '', '--config', file, ...place, '--telemetry', 'False'],
    cwd: folder,
    // Otherwise it downloads prices when it starts.
    env: { ...minimalEnvironment, LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR' },
    folder,
    ready: port,
  })
  return { child, port }
}
