import { handleRequests } from '../../src/platform/concurrency/worker-thread.ts'

const gate = Promise.withResolvers<void>()

/** Echoes each request; `wait` and `fail` only after `release`. */
handleRequests(async (request) => {
  if (request === 'release') gate.resolve()
  if (request === 'wait' || request === 'fail') await gate.promise
  if (request === 'fail') throw Object.assign(new Error('failed'), { code: 'E_FAILED' })
  return request
})
