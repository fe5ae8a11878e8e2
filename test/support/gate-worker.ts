import { answerEach } from '../../src/lib/thread.ts'

const gate = Promise.withResolvers<void>()

/** Answers each question with itself; `wait` and `fail` only once `release` was asked. */
answerEach(async (question) => {
  if (question === 'release') gate.resolve()
  if (question === 'wait' || question === 'fail') await gate.promise
  if (question === 'fail') throw Object.assign(new Error('failed'), { code: 'E_FAILED' })
  return question
})
