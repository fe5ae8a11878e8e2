import { chatReply } from './replies/chat.ts'
import { geminiReply } from './replies/gemini.ts'
import { messagesReply } from './replies/messages.ts'
import { responsesReply } from './replies/responses.ts'
import {
  longScenario,
  type Scenario,
  type ScenarioName,
  scenarios,
  type VendorReply,
} from './replies/scenario.ts'

export { longScenario, type Scenario, type ScenarioName, scenarios, type VendorReply }

export type TextWireFormat = 'chat' | 'responses' | 'messages' | 'gemini'

/** Encodes a scenario in a vendor's format, streamed and whole. */
export const vendorReplies: Record<TextWireFormat, (scenario: Scenario) => VendorReply> = {
  chat: chatReply,
  responses: responsesReply,
  messages: messagesReply,
  gemini: geminiReply,
}

export const textWireFormats = Object.keys(vendorReplies) as TextWireFormat[]

export function vendorReply(wireFormat: TextWireFormat, name: ScenarioName): VendorReply {
  return vendorReplies[wireFormat](scenarios[name])
}

/** An error body in each format. */
export const vendorErrors: Record<TextWireFormat, (message: string) => Record<string, unknown>> = {
  chat: (message) => ({ error: { message, type: 'server_error', param: null, code: null } }),
  responses: (message) => ({ error: { message, type: 'server_error', param: null, code: null } }),
  messages: (message) => ({ type: 'error', error: { type: 'api_error', message }, request_id: 'req_011CX' }),
  gemini: (message) => ({ error: { code: 500, message, status: 'INTERNAL' } }),
}
