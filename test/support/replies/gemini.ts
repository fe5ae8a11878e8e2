import { encodeDataFrame, inputTokensOf, type Scenario, splitPieces, type VendorReply } from './scenario.ts'

type Json = Record<string, unknown>

const identity = { modelVersion: 'vendor-pro-3', responseId: 'Wm7qaZ3TH5nNxs0P' }

export function geminiReply(scenario: Scenario): VendorReply {
  return { frames: encodeFrames(scenario), body: encodeBody(scenario), scenario, usage: scenario.usage }
}

function encodeUsage(scenario: Scenario): Json {
  const { cacheRead, output, reasoning } = scenario.usage
  return {
    promptTokenCount: inputTokensOf(scenario),
    ...(cacheRead > 0 ? { cachedContentTokenCount: cacheRead } : {}),
    candidatesTokenCount: output,
    totalTokenCount: inputTokensOf(scenario) + output + reasoning,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: inputTokensOf(scenario) }],
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
  }
}

/** The finish reason: this format has none for tool calls. */
function finishOf({ finish }: Scenario): string {
  return finish === 'length' ? 'MAX_TOKENS' : 'STOP'
}

function encodeCallParts({ toolCalls, reasoning }: Scenario): Json[] {
  return toolCalls.map(({ id, name, arguments: args }, index) => ({
    functionCall: { id, name, args: JSON.parse(args) },
    // Only the first of several calls is signed.
    ...(reasoning && index === 0 ? { thoughtSignature: reasoning.signature } : {}),
  }))
}

function encodeBody(scenario: Scenario): Json {
  const { text, reasoning, toolCalls } = scenario
  const signed = reasoning && toolCalls.length === 0 ? { thoughtSignature: reasoning.signature } : {}
  const parts = [
    ...(reasoning ? [{ text: reasoning.text, thought: true }] : []),
    ...(text === '' ? [] : [{ text, ...signed }]),
    ...encodeCallParts(scenario),
  ]
  const candidate = { content: { parts, role: 'model' }, finishReason: finishOf(scenario), index: 0 }
  return { candidates: [candidate], usageMetadata: encodeUsage(scenario), ...identity }
}

function encodeFrames(scenario: Scenario): string[] {
  const { text, reasoning, toolCalls } = scenario
  const chunk = (parts: Json[], rest: Json = {}) =>
    encodeDataFrame({
      candidates: [{ content: { parts, role: 'model' }, ...rest, index: 0 }],
      usageMetadata: encodeUsage(scenario),
      ...identity,
    })
  const trailing = reasoning && toolCalls.length === 0 ? { thoughtSignature: reasoning.signature } : {}
  return [
    ...splitPieces(reasoning?.text ?? '', 30).map((part) => chunk([{ text: part, thought: true }])),
    ...splitPieces(text, 20).map((part) => chunk([{ text: part }])),
    ...encodeCallParts(scenario).map((part) => chunk([part])),
    chunk([{ text: '', ...trailing }], { finishReason: finishOf(scenario) }),
  ]
}
