// The command line as one executable. No launcher sets the variables of the runtime, so it starts again with them.
import { runtimeSettings } from '../runtime-settings.mjs'

const args = process.argv.slice(2)
const missing = Object.entries(runtimeSettings).filter(([name]) => process.env[name] === undefined)
if (missing.length > 0) await restart({ ...process.env, ...Object.fromEntries(missing) })
if (args.length === 0) process.argv.push('serve')
await import('../../src/cli.ts')

/** The runtime reads them before any code. The process keeps its id, except on Windows, which cannot replace one. */
async function restart(env: NodeJS.ProcessEnv): Promise<void> {
  const command = [process.execPath, ...args]
  if (process.platform !== 'win32') process.execve?.(process.execPath, command, env)
  // The channel closes with this process, however it dies: the server then stops too.
  const child = Bun.spawn(command, { env, stdio: ['inherit', 'inherit', 'inherit'], ipc: () => undefined })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  process.exit(await child.exited)
}
