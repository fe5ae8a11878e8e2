import { assistant, partOf, pdf, png, story, talk, user, wav } from './request-story.ts'

export const conversation = [
  story('Plain text', { messages: [user('How cold is it in Oslo?')], maxTokens: 300 }),
  {
    name: 'No limit of the answer',
    call: { messages: [user('Tell me a tale.')], stream: false, unknown: [] },
  },
  talk('System prompt', { role: 'system', parts: [partOf('Answer in one word.')] }, user('Cold?')),
  talk('Developer prompt', { role: 'developer', parts: [partOf('Answer in one word.')] }, user('Cold?')),
  talk(
    'System prompt in blocks',
    { role: 'system', parts: [partOf('You know the north.'), partOf('Be brief.')] },
    user('Cold?'),
  ),
  talk('Several turns', user('Hello'), assistant('Hello! What can I do?'), user('Count to three.')),
  talk(
    'Instructions between turns',
    user('Hello'),
    assistant('Hi.'),
    { role: 'system', parts: [partOf('From now on, answer in Norwegian.')] },
    user('How cold is it?'),
  ),
  talk('The beginning of the answer', user('Write JSON.'), assistant('{"city":')),
  talk('Several text blocks', user('First block.', 'Second block.')),
  talk('Names of speakers', { ...user('Hello'), name: 'kari' }),
  talk(
    'A refusal in the history',
    user('Do it.'),
    assistant({ kind: 'refusal', text: 'I will not.' }),
    user('Why?'),
  ),
]

export const media = [
  talk(
    'Image by URL',
    user('What is this?', { kind: 'image', source: { kind: 'url', url: 'https://example.com/fjord.png' } }),
  ),
  talk(
    'Image as data',
    user('And this?', { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png } }),
  ),
  talk(
    'Image with detail',
    user(
      { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png }, detail: 'high' },
      'Look closely.',
    ),
  ),
  talk(
    'PDF as data',
    user(
      {
        kind: 'file',
        source: { kind: 'data', mediaType: 'application/pdf', data: pdf },
        filename: 'ferry.pdf',
      },
      'Sum up.',
    ),
  ),
  talk(
    'PDF by URL',
    user({ kind: 'file', source: { kind: 'url', url: 'https://example.com/ferry.pdf' } }, 'Sum up.'),
  ),
  talk(
    'Text file',
    user(
      { kind: 'file', source: { kind: 'text', text: 'Ferry at 8 and at 17.' }, filename: 'ferry.txt' },
      'When?',
    ),
  ),
  talk(
    'Document to cite from',
    user(
      {
        kind: 'file',
        source: { kind: 'data', mediaType: 'application/pdf', data: pdf },
        context: 'The timetable of 2026.',
        cite: true,
      },
      'When?',
    ),
  ),
  talk('Uploaded file', user({ kind: 'file', source: { kind: 'file', id: 'file_011CNha8' } }, 'Sum up.')),
  talk('Audio', user({ kind: 'audio', data: wav, format: 'wav' }, 'What is said?')),
  talk(
    'Video by URL',
    user({ kind: 'video', source: { kind: 'url', url: 'https://example.com/fjord.mp4' } }, 'What happens?'),
  ),
  talk(
    'Video as data',
    user({ kind: 'video', source: { kind: 'data', mediaType: 'video/mp4', data: wav } }, 'What happens?'),
  ),
]
