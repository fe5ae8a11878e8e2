import { handleRequests } from '../../src/lib/worker-thread.ts'

const gate = Promise.withResolvers<void>()

/** Echoes each request; `wait` and `fail` only after `release`. */
handleRequests(async (incoming) => {
  if (incoming === 'release') gate.resolve()
  if (incoming === 'wait' || incoming === 'fail') await gate.promise
  if (incoming === 'fail') throw Object.assign(new Error('failed'), { code: 'E_FAILED' })
  return incoming
})
