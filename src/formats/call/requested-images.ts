/** What is known of the images that a request asks for. */
export interface RequestedImages {
  size?: string | undefined
  resolution?: string | undefined
  quality?: string | undefined
  /** Previews of each image. */
  previews: number
}
