// Many points as the pixels of an image: what they are by its colors, how many they are by its strength.
// Pixels of the screen along the side of one pixel of the image.
const CELL = 3;

// Return the pixels of the points inside the view { x0, x1, y0, y1, width, height }, the lowest row first. Without
// colors only the points that are not selected are drawn.
function density(state, { x, y }, colors, view, dimColor) {
  const { points } = state;
  const width = Math.max(1, Math.round(view.width / CELL));
  const height = Math.max(1, Math.round(view.height / CELL));
  const size = width * height;
  const inside = new Float64Array(size);
  const outside = new Float64Array(size);
  const light = new Float64Array(3 * size);
  const channels = colors?.channels;
  const [perX, perY] = [width / (view.x1 - view.x0), height / (view.y1 - view.y0)];
  for (let point = 0; point < points.size; point++) {
    const column = Math.floor((x[point] - view.x0) * perX);
    const row = Math.floor((y[point] - view.y0) * perY);
    if (!(column >= 0 && column < width && row >= 0 && row < height)) continue;
    const cell = row * width + column;
    const weight = points.weight(point);
    if (!state.holds(point)) outside[cell] += weight;
    else if (channels) {
      const from = 3 * colors.place(point);
      inside[cell] += weight;
      for (let i = 0; i < 3; i++) light[3 * cell + i] += weight * channels[from + i];
    }
  }
  return { width, height, pixels: pixelsOf(inside, outside, light, dimColor) };
}

function largest(counts) {
  let most = 0;
  for (const count of counts) if (count > most) most = count;
  return most;
}

// Cells with points that are looked at take their mean color; cells with only others are dim.
function pixelsOf(inside, outside, light, dim) {
  const pixels = new Uint32Array(inside.length);
  const [top, topOutside] = [Math.log1p(largest(inside)), Math.log1p(largest(outside))];
  for (let cell = 0; cell < pixels.length; cell++) {
    if (inside[cell]) {
      const alpha = 0.6 + (0.4 * Math.log1p(inside[cell])) / top;
      const n = inside[cell];
      pixels[cell] = pack(light[3 * cell] / n, light[3 * cell + 1] / n, light[3 * cell + 2] / n, alpha);
    } else if (outside[cell]) {
      pixels[cell] = pack(dim[0], dim[1], dim[2], 0.1 + (0.2 * Math.log1p(outside[cell])) / topOutside);
    }
  }
  return pixels;
}

const pack = (red, green, blue, alpha) =>
  ((Math.round(255 * alpha) << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
