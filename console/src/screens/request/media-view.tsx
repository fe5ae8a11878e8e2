import { Group, Text } from '@mantine/core'
import type { Media } from './media.ts'

/** The images and recordings of a message. */
export function MediaView({ media }: { media: Media[] }) {
  return (
    <Group gap="xs" mt="xs" align="flex-start">
      {media.map(({ kind, url, note }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the place in the message is what tells them apart
        <div key={index}>
          {url && kind === 'image' && (
            <img src={url} alt={note} style={{ maxWidth: '100%', maxHeight: 320 }} />
          )}
          {url && kind === 'audio' && (
            // biome-ignore lint/a11y/useMediaCaption: recordings of clients have no captions
            <audio controls src={url} aria-label={note} />
          )}
          {!url && (
            <Text size="xs" c="dimmed">
              {kind === 'image' ? 'Image' : 'Recording'}: {note}
            </Text>
          )}
        </div>
      ))}
    </Group>
  )
}
