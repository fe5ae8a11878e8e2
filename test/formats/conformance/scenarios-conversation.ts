import {
  assistantMessage,
  conversation,
  pdf,
  png,
  scenario,
  toPart,
  userMessage,
  wav,
} from './request-scenario.ts'

export const conversationScenarios = [
  scenario('Plain text', { messages: [userMessage('How cold is it in Oslo?')], maxTokens: 300 }),
  {
    name: 'No output limit',
    call: { messages: [userMessage('Tell me a tale.')], stream: false, unknown: [] },
  },
  conversation(
    'System prompt',
    { role: 'system', parts: [toPart('Answer in one word.')] },
    userMessage('Cold?'),
  ),
  conversation(
    'Developer prompt',
    { role: 'developer', parts: [toPart('Answer in one word.')] },
    userMessage('Cold?'),
  ),
  conversation(
    'System prompt in blocks',
    { role: 'system', parts: [toPart('You know the north.'), toPart('Be brief.')] },
    userMessage('Cold?'),
  ),
  conversation(
    'Multiple turns',
    userMessage('Hello'),
    assistantMessage('Hello! What can I do?'),
    userMessage('Count to three.'),
  ),
  conversation(
    'System message between turns',
    userMessage('Hello'),
    assistantMessage('Hi.'),
    { role: 'system', parts: [toPart('From now on, answer in Norwegian.')] },
    userMessage('How cold is it?'),
  ),
  conversation('Prefilled assistant message', userMessage('Write JSON.'), assistantMessage('{"city":')),
  conversation('Multiple text blocks', userMessage('First block.', 'Second block.')),
  conversation('Participant name', { ...userMessage('Hello'), name: 'kari' }),
  conversation(
    'Refusal in the history',
    userMessage('Do it.'),
    assistantMessage({ kind: 'refusal', text: 'I will not.' }),
    userMessage('Why?'),
  ),
]

export const mediaScenarios = [
  conversation(
    'Image by URL',
    userMessage('What is this?', {
      kind: 'image',
      source: { kind: 'url', url: 'https://example.com/fjord.png' },
    }),
  ),
  conversation(
    'Image as base64',
    userMessage('And this?', { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png } }),
  ),
  conversation(
    'Image with detail',
    userMessage(
      { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png }, detail: 'high' },
      'Look closely.',
    ),
  ),
  conversation(
    'PDF as base64',
    userMessage(
      {
        kind: 'file',
        source: { kind: 'data', mediaType: 'application/pdf', data: pdf },
        filename: 'ferry.pdf',
      },
      'Sum up.',
    ),
  ),
  conversation(
    'PDF by URL',
    userMessage({ kind: 'file', source: { kind: 'url', url: 'https://example.com/ferry.pdf' } }, 'Sum up.'),
  ),
  conversation(
    'Text file',
    userMessage(
      { kind: 'file', source: { kind: 'text', text: 'Ferry at 8 and at 17.' }, filename: 'ferry.txt' },
      'When?',
    ),
  ),
  conversation(
    'Document with citations',
    userMessage(
      {
        kind: 'file',
        source: { kind: 'data', mediaType: 'application/pdf', data: pdf },
        context: 'The timetable of 2026.',
        citationsEnabled: true,
      },
      'When?',
    ),
  ),
  conversation(
    'Uploaded file',
    userMessage({ kind: 'file', source: { kind: 'file', id: 'file_011CNha8' } }, 'Sum up.'),
  ),
  conversation('Audio', userMessage({ kind: 'audio', data: wav, format: 'wav' }, 'What is said?')),
  conversation(
    'Video by URL',
    userMessage(
      { kind: 'video', source: { kind: 'url', url: 'https://example.com/fjord.mp4' } },
      'What happens?',
    ),
  ),
  conversation(
    'Video as base64',
    userMessage(
      { kind: 'video', source: { kind: 'data', mediaType: 'video/mp4', data: wav } },
      'What happens?',
    ),
  ),
]
