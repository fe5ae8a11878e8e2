import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useNavigate } from '@tanstack/react-router'
import { encodePrompt } from '../../components/playground-link.ts'
import type { PresetVersion } from './draft.ts'
import { playgroundOf } from './playground-settings.ts'

/** Opens the playground with the settings of one version, live or not. */
export function PlaygroundButton({ version }: { version: PresetVersion }) {
  const navigate = useNavigate()
  const open = async () => {
    const { prompt, left } = playgroundOf(version)
    const hash = await encodePrompt(prompt)
    if (hash === null) {
      notifications.show({
        color: 'red',
        message: 'The system prompt is too long for a link to the playground.',
      })
      return
    }
    if (left.length > 0) {
      notifications.show({
        message: `The playground has no setting for ${left.join(', ')}.`,
        autoClose: 10_000,
      })
    }
    await navigate({ to: '/playground', hash })
  }
  return (
    <Button
      size="compact-xs"
      variant="default"
      aria-label={`Try version ${version.version} in the playground`}
      onClick={() => void open()}
    >
      Try
    </Button>
  )
}
