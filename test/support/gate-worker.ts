import { handleRequests } from '../../src/lib/worker-thread.ts'

const gate = Promise.withResolvers<void>()

/** Answers each question with itself; `wait` and `fail` only once `release` was asked. */
handleRequests(async (incoming) => {
  if (incoming === 'release') gate.resolve()
  if (incoming === 'wait' || incoming === 'fail') await gate.promise
  if (incoming === 'fail') throw Object.assign(new Error('failed'), { code: 'E_FAILED' })
  return incoming
})
