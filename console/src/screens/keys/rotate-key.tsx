import { Select, Text } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'
import { Time } from '../../components/time.tsx'
import type { ApiKey } from './key-fields.ts'

const overlaps = [
  { value: '0', label: 'ends at once' },
  { value: '3600', label: 'works for another hour' },
  { value: '86400', label: 'works for another day' },
  { value: '604800', label: 'works for another week' },
]

interface Rotated {
  key: string
  previous_valid_until: string | null
}

/** Gives the key a new secret, and then shows it. */
export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const refresh = useRefresh()
  const [overlap, setOverlap] = useState('86400')
  const [rotated, setRotated] = useState<Rotated | null>(null)
  const rotate = async () => {
    const { data } = await client.POST('/keys/{hash}/rotate', {
      params: { path: { hash: apiKey.hash } },
      body: { overlap_seconds: Number(overlap) },
    })
    if (!data) throw new Error('The server returned no secret.')
    return data
  }
  if (rotated) {
    const close = () => {
      void refresh('/keys', '/keys/{hash}')
      onClose()
    }
    return (
      <SecretOnce title={`The new secret of ${apiKey.name}`} secret={rotated.key} onClose={close}>
        <Text size="sm" component="div">
          {rotated.previous_valid_until === null ? (
            'The old secret no longer works.'
          ) : (
            <>
              The old secret works until <Time iso={rotated.previous_valid_until} />.
            </>
          )}
        </Text>
      </SecretOnce>
    )
  }
  return (
    <FormDialog
      title={`Rotate ${apiKey.name}`}
      action="Rotate"
      onSubmit={rotate}
      onDone={setRotated}
      onClose={onClose}
    >
      <Text size="sm">
        The key gets a new secret, which is shown once. Its limit, usage, expiry and guardrail stay as they
        are.
      </Text>
      <Select
        label="The old secret"
        description="Time to switch your applications to the new secret. Rotating again ends it early."
        data={overlaps}
        allowDeselect={false}
        value={overlap}
        onChange={(value) => value && setOverlap(value)}
      />
    </FormDialog>
  )
}
