import { Badge, Group, Stack, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { client } from '../../../api/client.ts'
import { mayDo, useSession } from '../../../app/session.tsx'
import {
  CredentialTestButton,
  CredentialTestResult,
  useCredentialTest,
} from '../../../components/credential-test.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import type { Progress } from './use-progress.ts'

const AddProvider = lazy(() =>
  import('../../../components/add-provider/add-provider.tsx').then((module) => ({
    default: module.AddProvider,
  })),
)

/** Lists the providers with a credential, and offers to add one. */
export function ProviderStep({ progress }: { progress: Progress }) {
  const session = useSession()
  return (
    <Stack maw={560}>
      <Text size="sm">
        Providers run the models. You can skip this step: sandbox models such as sandbox/echo need no
        provider.
      </Text>
      {progress.installed.length > 0 && (
        <Group gap="xs">
          <Text size="sm">Set up by the operator:</Text>
          {progress.installed.map((name) => (
            <Badge key={name} variant="light" tt="none">
              {name}
            </Badge>
          ))}
        </Group>
      )}
      {progress.byok.map(({ id, provider, label }) => (
        <SavedCredential key={id} id={id} provider={provider} label={label} />
      ))}
      {mayDo(session, 'byok:write') && (
        <Group>
          <DialogButton label="Choose a provider">
            {(close) => (
              <Suspense fallback={null}>
                <AddProvider onClose={close} onAdded={close} />
              </Suspense>
            )}
          </DialogButton>
        </Group>
      )}
    </Stack>
  )
}

function SavedCredential({ id, provider, label }: { id: string; provider: string; label: string }) {
  const canTest = mayDo(useSession(), 'byok:write')
  const test = useCredentialTest(() => client.POST('/byok/{id}/test', { params: { path: { id } }, body: {} }))
  return (
    <Stack gap={6}>
      <Group gap="sm">
        <TextLink to="/providers/$slug" params={{ slug: provider }}>
          {provider}
        </TextLink>
        <Text size="sm" c="dimmed">
          {label}
        </Text>
        {canTest && <CredentialTestButton test={test} label={`Test the key of ${provider}`} />}
      </Group>
      <CredentialTestResult test={test} />
    </Stack>
  )
}
