import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { createKey } from './create-key.tsx'
import { type ApiKey, successorOf } from './key-fields.ts'
import { NewKeySecret } from './new-key-secret.tsx'

/** Creates a key with the same settings, then disables this one, if the person wants it. */
export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const session = useSession()
  const [isDisabling, setDisabling] = useState(false)
  const rotate = useMutation({
    mutationFn: async () => {
      const guardrailId = mayDo(session, 'guardrails:write') ? await findGuardrail(apiKey.hash) : null
      const created = await createKey(successorOf(apiKey, session.member.id), guardrailId)
      const disableError = isDisabling ? await disableKey(apiKey.hash) : null
      return { created, disableError }
    },
  })
  if (rotate.data) {
    const { created, disableError } = rotate.data
    return (
      <NewKeySecret created={created} onClose={onClose}>
        <Text size="sm">
          {isDisabling && disableError === null
            ? 'The old key no longer works.'
            : 'The old key still works. Disable it once your application uses the new one.'}
        </Text>
        {disableError !== null && <ErrorNotice error={disableError} />}
      </NewKeySecret>
    )
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Rotate ${apiKey.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm">
          This creates a second key with the same name, limit, expiry, workspace and guardrail, and shows its
          secret. What the old key has spent stays with it: the limit of the new key begins at zero.
        </Text>
        <Checkbox
          label="Disable the old key at once"
          description="Applications that still use it are refused. Leave it off to switch them over first."
          checked={isDisabling}
          onChange={(event) => setDisabling(event.currentTarget.checked)}
        />
        {rotate.error !== null && <ErrorNotice error={rotate.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button onClick={() => rotate.mutate()} loading={rotate.isPending} data-autofocus>
            Create the new key
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** The guardrail that is assigned to the key itself. */
async function findGuardrail(hash: string): Promise<string | null> {
  const { data } = await client.GET('/keys/{hash}/policy', { params: { path: { hash } } })
  return data?.data.layers.find(({ layer }) => layer === 'key')?.guardrail_id ?? null
}

/** Returns the error, because the secret of the new key has to be shown in any case. */
async function disableKey(hash: string): Promise<unknown> {
  try {
    await client.PATCH('/keys/{hash}', { params: { path: { hash } }, body: { disabled: true } })
    return null
  } catch (error) {
    return error
  }
}
