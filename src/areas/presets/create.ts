import { z } from 'zod'
import { refuseBeyond } from '../../account/ceilings.ts'
import type { PresetFormat } from '../../db/schema.ts'
import { chatBody } from '../../dialects/chat/schema.ts'
import { messagesBody } from '../../dialects/messages/schema.ts'
import { responsesBody } from '../../dialects/responses/schema.ts'
import { fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { operation } from '../../operation.ts'
import type { Caller } from '../../pipeline/authenticate.ts'
import { type Config, configOf } from './config.ts'
import { fullRecord, fullRecordOf } from './record.ts'
import { slugParam } from './slug.ts'
import { addVersion, openPreset, updatePreset } from './store.ts'
import { promptOfChat, promptOfMessages, promptOfResponses } from './system-prompt.ts'

const fullAnswer = z.strictObject({ data: fullRecord })
const description =
  'Only configuration is kept, and the system prompt; everything else in the body is checked and ignored. An archived preset takes no new version.'

const common = {
  method: 'POST' as const,
  tag: 'Presets',
  description,
  access: 'management' as const,
  params: slugParam,
  errors: [404, 409],
  response: fullAnswer,
}

const fromChat = operation({
  ...common,
  id: 'createPresetFromChat',
  path: '/presets/{slug}/chat/completions',
  summary: 'Make a preset, or a new version of it, from a chat request',
  body: chatBody,
  handle: ({ gateway, caller, params, body }) =>
    save(gateway, caller, params.slug, {
      format: 'chat',
      config: configOf(body),
      prompt: promptOfChat(body),
    }),
})

const fromMessages = operation({
  ...common,
  id: 'createPresetFromMessages',
  path: '/presets/{slug}/messages',
  summary: 'Make a preset, or a new version of it, from a Messages request',
  body: messagesBody,
  handle: ({ gateway, caller, params, body }) =>
    save(gateway, caller, params.slug, {
      format: 'messages',
      config: configOf(body),
      prompt: promptOfMessages(body),
    }),
})

const fromResponses = operation({
  ...common,
  id: 'createPresetFromResponses',
  path: '/presets/{slug}/responses',
  summary: 'Make a preset, or a new version of it, from a Responses request',
  body: responsesBody,
  handle: ({ gateway, caller, params, body }) =>
    save(gateway, caller, params.slug, {
      format: 'responses',
      config: configOf(body),
      prompt: promptOfResponses(body),
    }),
})

export const createOperations = [fromChat, fromMessages, fromResponses]

interface Content {
  format: PresetFormat
  config: Config
  prompt: string | null
}

async function save(
  gateway: Gateway,
  caller: Caller,
  slug: string,
  content: Content,
): Promise<z.input<typeof fullAnswer>> {
  const { clock, settings } = gateway
  const wanted = { organizationId: caller.organizationId, slug, creatorUserId: caller.userId }
  return gateway.db.transaction().execute(async (tx) => {
    const preset = await openPreset(tx, clock, wanted)
    await refuseBeyond(tx, settings.ceilings, 'presets', caller.organizationId)
    if (preset.status === 'archived') {
      throw fail('conflict', 'The preset is archived: set its status to active or disabled first.')
    }
    const version = await addVersion(tx, clock, preset.id, {
      format: content.format,
      system_prompt: content.prompt,
      config: JSON.stringify(content.config),
      creator_id: creatorOf(caller),
    })
    await refuseBeyond(tx, settings.ceilings, 'preset_versions', preset.id)
    const designated = await updatePreset(tx, clock, preset.id, { designated_version_id: version.id })
    return { data: fullRecordOf(designated, version) }
  })
}

/** A key made for no member, such as the one from the environment, stands for itself. */
function creatorOf(caller: Caller): string {
  return caller.userId ?? `key:${caller.key.hash}`
}
