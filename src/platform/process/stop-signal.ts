/**
 * A terminal sends Ctrl-C to the whole process group, so one signal may arrive twice: only a later one forces the exit,
 * after `onForced`.
 */
export async function waitForStopSignal(onForced?: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let firstAt = 0
  const stop = () => {
    if (firstAt === 0) firstAt = Date.now()
    else if (Date.now() - firstAt > 1000) {
      onForced?.()
      process.exit(130)
    }
    resolve()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // The launcher has exited and can no longer forward signals.
  process.on('disconnect', stop)
  await promise
}
